/** A header such as `multipart/form-data; boundary=x`. */
export interface ParamHeader {
  /** In lower case. */
  readonly value: string
  /** Names in lower case; quotes taken off. */
  readonly params: ReadonlyMap<string, string>
}

/**
 * A header value with parameters; undefined when it cannot be read, or a parameter stands there twice and it is open which one counts. A backslash
 * counts as an escape only before a quote or a backslash: old browsers put whole Windows paths into `filename`. Source: RFC 9110 5.6.6, RFC 7578 4.2.
 */
export function readParamHeader(text: string): ParamHeader | undefined {
  const first = text.indexOf(';')
  const value = (first < 0 ? text : text.slice(0, first)).trim().toLowerCase()
  const params = new Map<string, string>()
  let at = first
  while (at >= 0 && at < text.length) {
    // `at` is on a semicolon.
    const equals = text.indexOf('=', at)
    const next = text.indexOf(';', at + 1)
    if (equals < 0 || (next >= 0 && next < equals)) {
      // An empty parameter, as behind a last semicolon.
      if (text.slice(at + 1, next < 0 ? text.length : next).trim() !== '') return undefined
      at = next
      continue
    }
    const name = text
      .slice(at + 1, equals)
      .trim()
      .toLowerCase()
    if (name === '' || params.has(name)) return undefined
    const begin = spacesEnd(text, equals + 1)
    const quoted = text[begin] === '"'
    const read = quoted ? readQuoted(text, begin + 1) : readToken(text, begin)
    if (read === undefined) return undefined
    params.set(name, read.value)
    at = read.end
  }
  return { value, params }
}

/** `end`: the next semicolon, or the end of the text. */
interface Read {
  readonly value: string
  readonly end: number
}

function readToken(text: string, begin: number): Read {
  const next = text.indexOf(';', begin)
  const end = next < 0 ? text.length : next
  return { value: text.slice(begin, end).trim(), end }
}

function readQuoted(text: string, begin: number): Read | undefined {
  let value = ''
  for (let at = begin; at < text.length; at++) {
    const char = text[at]
    if (char === '"') {
      const end = spacesEnd(text, at + 1)
      return end === text.length || text[end] === ';' ? { value, end } : undefined
    }
    const following = text[at + 1]
    if (char === '\\' && (following === '"' || following === '\\')) at++
    value += text[at]
  }
  return undefined
}

function spacesEnd(text: string, begin: number): number {
  let at = begin
  while (text[at] === ' ' || text[at] === '\t') at++
  return at
}
