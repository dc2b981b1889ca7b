/** Draws the id by which a request is found in answers and in the log. */
export function newRequestId(): string {
  return `req_${crypto.randomUUID()}`
}
