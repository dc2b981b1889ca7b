import { readParamHeader } from './header-params.ts'

/** RFC 2046 says 70; some clients write more. */
const MAX_BOUNDARY = 200
const PRINTABLE = /^[\x20-\x7e]*[\x21-\x7e]$/

/**
 * The boundary that a Content-Type of `multipart/form-data` names; undefined = it is another type, or has no boundary that could be used.
 * Source: RFC 2046 5.1.1, RFC 7578 4.1.
 */
export function boundaryOf(contentType: string | undefined): string | undefined {
  const header = readParamHeader(contentType ?? '')
  if (header === undefined || header.value !== 'multipart/form-data') return undefined
  const boundary = header.params.get('boundary')
  if (boundary === undefined || boundary.length > MAX_BOUNDARY || !PRINTABLE.test(boundary)) return undefined
  return boundary
}
