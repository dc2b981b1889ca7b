/** How a server names the content it sends. */
export interface ContentTag {
  /** Without quotes and `W/`. */
  readonly value: string
  /** `linked`: the hub's own word for the file (it stays when another server delivers). `weak` ones may not stand in `If-Range`. */
  readonly kind: 'linked' | 'strong' | 'weak'
}

/** What an attempt asked for. */
export interface Wanted {
  /** Bytes that are on disk. */
  readonly offsetBytes: number
  /** Of the whole file. */
  readonly sizeBytes: number
  /** Of what is on disk; null = nothing is, or the server gave none. */
  readonly tag: ContentTag | null
  /** As the hub lists it; null = unknown. */
  readonly sha256: string | null
}

/** The head of an answer to a GET of a file. */
export interface AnswerHead {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly tag: ContentTag | null
  /** The size that the hub itself gave on the way to the server that delivers; null = it gave none. */
  readonly linkedSizeBytes: number | null
  /** Did the hub answer itself, or a server it points to? */
  readonly fromHub: boolean
}

/**
 * - `append`: the body continues what is on disk, with so many bytes (≥ 1, at most the rest).
 * - `begin`: the body is the whole file; what is on disk is void.
 * - `changed`: the file is not the one we began with; ask the hub anew and begin again.
 * - `faulty`: the answer contradicts itself or what was asked for; try again.
 * - `busy`: try again, not before `waitMs` (0 = the server did not say).
 * - `refused`: trying again is of no use.
 */
export type Judgement =
  | { readonly kind: 'append'; readonly bytes: number }
  | { readonly kind: 'begin' }
  | { readonly kind: 'changed'; readonly reason: string }
  | { readonly kind: 'faulty'; readonly reason: string }
  | { readonly kind: 'busy'; readonly reason: string; readonly waitMs: number }
  | { readonly kind: 'refused'; readonly status: number }

/** What is an answer worth? `Retry-After` as a date is not understood: the own backoff applies. Source: RFC 9110 13.1.5, 14.4, 15.3.7. */
export function judgeAnswer(want: Wanted, head: AnswerHead): Judgement {
  const { status } = head
  if (status === 200 || status === 206) return judgeBody(want, head)
  if (status === 416) return { kind: 'changed', reason: `HTTP 416: the file ends before byte ${want.offsetBytes}` }
  const reason = `HTTP ${status}`
  if (status === 429 || status === 408 || status >= 500)
    return { kind: 'busy', reason, waitMs: retryAfterMs(head.headers) }
  // Links to a delivering server run out; the next attempt gets a new one from the hub.
  if (!head.fromHub) return { kind: 'faulty', reason: `${reason} from the server the hub points to` }
  return { kind: 'refused', status }
}

function judgeBody(want: Wanted, head: AnswerHead): Judgement {
  const { headers, tag } = head
  const changed = changeOf(want, head)
  if (changed !== null) return { kind: 'changed', reason: changed }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') return faulty(`the body comes encoded as ${encoding}`)
  const length = wholeNumber(headers['content-length'])
  if (head.status === 200) {
    // A sign-in page of some network, most likely: it must not cost what is on disk.
    if (want.tag !== null && tag === null) return faulty('an answer without the ETag that the file had')
    if (length !== null && length !== want.sizeBytes) return faulty(sizeReason(length, want.sizeBytes))
    return { kind: 'begin' }
  }
  const range = contentRange(headers['content-range'])
  if (range === null) return faulty('HTTP 206 without a usable Content-Range')
  if (range.total !== null && range.total !== want.sizeBytes) return faulty(sizeReason(range.total, want.sizeBytes))
  if (range.from !== want.offsetBytes) return faulty(`bytes from ${range.from} instead of ${want.offsetBytes}`)
  const bytes = range.to - range.from + 1
  if (bytes < 1 || range.to >= want.sizeBytes) return faulty(`bytes up to ${range.to} of ${want.sizeBytes}`)
  if (length !== null && length !== bytes) return faulty(`Content-Length ${length} for ${bytes} bytes of Content-Range`)
  if (want.offsetBytes > 0 && tag === null && want.sha256 === null) return faulty('a part of a file without an ETag')
  return { kind: 'append', bytes }
}

function changeOf({ tag: had, sha256, sizeBytes }: Wanted, { tag, linkedSizeBytes }: AnswerHead): string | null {
  if (had !== null && tag !== null && had.value !== tag.value)
    return `the ETag changed from ${had.value} to ${tag.value}`
  if (sha256 !== null && tag?.kind === 'linked' && isSha256(tag.value) && tag.value !== sha256) {
    return `the hub lists sha256 ${sha256} and delivers ${tag.value}`
  }
  if (linkedSizeBytes !== null && linkedSizeBytes !== sizeBytes) return sizeReason(linkedSizeBytes, sizeBytes)
  return null
}

/** May a part with this tag be continued? Without a checksum only a strong tag keeps two versions from being mixed. */
export function isResumable(tag: ContentTag | null, sha256: string | null): boolean {
  return sha256 !== null || (tag !== null && tag.kind !== 'weak')
}

/** The value of an `ETag` header, null when there is none. `linked`: it is the hub's own (`X-Linked-Etag`). */
export function parseTag(header: string | undefined, linked: boolean): ContentTag | null {
  const [, weak, value] = /^\s*(W\/)?"?([^"]+)"?\s*$/.exec(header ?? '') ?? []
  if (value === undefined) return null
  return { value, kind: linked ? 'linked' : weak === undefined ? 'strong' : 'weak' }
}

/** Milliseconds of a `Retry-After` in seconds; 0 = none, or a date. */
export function retryAfterMs(headers: AnswerHead['headers']): number {
  return (wholeNumber(headers['retry-after']) ?? 0) * 1000
}

/** A header that is a whole number ≥ 0, else null. */
export function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text.trim()) ? Number(text) : null
}

function contentRange(text: string | undefined): { from: number; to: number; total: number | null } | null {
  const [, from, to, total] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/i.exec(text?.trim() ?? '') ?? []
  if (from === undefined || to === undefined) return null
  return { from: Number(from), to: Number(to), total: wholeNumber(total) }
}

function isSha256(value: string): boolean {
  return /^[0-9a-f]{64}$/.test(value)
}

function sizeReason(got: number, listed: number): string {
  return `the file is said to have ${got} bytes, the hub lists ${listed}`
}

function faulty(reason: string): Judgement {
  return { kind: 'faulty', reason }
}
