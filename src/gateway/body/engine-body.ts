/** Takes a body that arrives while it is sent. */
export interface BodySink {
  /** False = enough for now: nothing more until `LiveBody.resume`. */
  write(piece: Buffer): boolean
  end(): void
  /** The body will not come to its end: the client sent nonsense, or left. */
  fail(error: unknown): void
}

/** A body that is sent while it arrives; it can be sent once. */
export interface LiveBody {
  /** Exact; undefined = not known, sent in chunks. */
  readonly sizeBytes: number | undefined
  /** Begins to flow, at once or later; called once. */
  start(sink: BodySink): void
  resume(): void
  /** The engine wants no more of it. What still arrives is thrown away. Idempotent. */
  stop(): void
}

/** Gives up the memory of a body. */
export interface BodyHolder {
  /** Idempotent. */
  release(): void
}

/** What goes to the engine behind the head of the request. */
export type EngineBody =
  | { readonly kind: 'none' }
  /** All of it, in memory; can be sent again. */
  | {
      readonly kind: 'whole'
      readonly pieces: readonly Buffer[]
      readonly sizeBytes: number
      /** Holds its memory; told when no engine can need it any more. */
      readonly holder?: BodyHolder
    }
  | { readonly kind: 'live'; readonly body: LiveBody }
