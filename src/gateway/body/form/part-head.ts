import { err, ok, type Result } from '../../../kernel/result.ts'
import { readParamHeader } from './header-params.ts'

/** What a part of a form is called, and whether it is a file. */
export interface PartHead {
  readonly name: string
  readonly isFile: boolean
}

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/**
 * Reads the headers of a part: CRLF between them, none behind the last. The error is what was expected instead.
 * Source: RFC 7578 section 4.2 (each part has a Content-Disposition with a name), RFC 9112 5 (no folding, no space before the colon).
 */
export function readPartHead(text: string): Result<PartHead, string> {
  let found: PartHead | undefined
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon < 0 || line.includes('\r') || line.includes('\n') || !FIELD_NAME.test(line.slice(0, colon))) {
      return err('a header "Name: value" in each line at the head of a part')
    }
    if (line.slice(0, colon).toLowerCase() !== 'content-disposition') continue
    const header = readParamHeader(line.slice(colon + 1))
    const name = header?.params.get('name')
    if (header?.value !== 'form-data' || name === undefined) {
      return err('Content-Disposition: form-data; name="…" at the head of a part')
    }
    if (found !== undefined) return err('one Content-Disposition at the head of a part')
    found = { name, isFile: header.params.has('filename') || header.params.has('filename*') }
  }
  return found === undefined ? err('a Content-Disposition at the head of a part') : ok(found)
}
