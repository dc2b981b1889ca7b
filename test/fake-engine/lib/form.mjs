// multipart/form-data, read strictly: a body that a proxy has damaged is an error, never half a form.
import { createHash } from 'node:crypto'

/** @typedef {{ filename: string, type: string, sizeBytes: number, sha256: string }} FormFile */
/** @typedef {{ fields: Record<string, string>, files: Record<string, FormFile>, order: string[] }} Form */

const CRLF = '\r\n'

/**
 * @param {string | undefined} contentType @param {Buffer} body
 * @returns {Form | { mistake: string }}
 */
export function readForm(contentType, body) {
  const boundary = /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType ?? '')
  if (boundary === null) return { mistake: `expected multipart/form-data with a boundary, got "${contentType ?? ''}"` }
  const mark = `--${boundary[1] ?? boundary[2]}`
  /** @type {Form} */
  const form = { fields: {}, files: {}, order: [] }
  if (!body.subarray(0, mark.length).equals(Buffer.from(mark)))
    return { mistake: 'multipart: no boundary at the start' }
  let at = mark.length
  for (;;) {
    const after = body.toString('latin1', at, at + 2)
    if (after === '--') return form
    if (after !== CRLF) return { mistake: `multipart: no line end after the boundary at byte ${at}` }
    const headEnd = body.indexOf(CRLF + CRLF, at)
    const end = headEnd < 0 ? -1 : body.indexOf(CRLF + mark, headEnd + 2)
    if (end < 0) return { mistake: `multipart: the part at byte ${at} does not end` }
    const head = body.toString('utf8', at + 2, headEnd)
    const name = /content-disposition:[^\n]*[;\s]name="([^"]*)"/i.exec(head)?.[1]
    if (name === undefined) return { mistake: `multipart: the part at byte ${at} has no name` }
    const filename = /content-disposition:[^\n]*[;\s]filename="([^"]*)"/i.exec(head)?.[1]
    const bytes = body.subarray(Math.min(headEnd + 4, end), end)
    form.order.push(name)
    if (filename === undefined) form.fields[name] = bytes.toString('utf8')
    else {
      const type = /content-type:\s*([^\r\n]+)/i.exec(head)?.[1] ?? ''
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      form.files[name] = { filename, type, sizeBytes: bytes.length, sha256 }
    }
    at = end + CRLF.length + mark.length
  }
}
