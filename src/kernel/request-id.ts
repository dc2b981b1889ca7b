/** Drawn once, so that ids of two daemons, or of two lives of one, are never the same. */
const LIFE = crypto.randomUUID().replaceAll('-', '').slice(0, 16)
let drawn = 0

/** The id by which a request is found in answers and in the log; no secret. */
export function newRequestId(): string {
  return `req_${LIFE}_${(++drawn).toString(36)}`
}
