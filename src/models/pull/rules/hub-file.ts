/** One file of a repository, as the hub lists it. */
export interface HubFile {
  /** Inside the repository, with `/` between folders. */
  readonly path: string
  readonly sizeBytes: number
  /** 64 hex digits; null = the hub names none (small files that are not kept in LFS). */
  readonly sha256: string | null
}
