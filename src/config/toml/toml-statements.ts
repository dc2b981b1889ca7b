import { parse } from 'smol-toml'

/**
 * A piece of a TOML document that begins at the start of a line and ends with one: blank lines and comments (`gap`), a table's
 * header, or a key with its value, however many lines that takes. The texts of all statements, joined, are the document.
 */
export type TomlStatement =
  | { readonly kind: 'gap'; readonly text: string }
  | { readonly kind: 'header'; readonly text: string; readonly path: readonly string[]; readonly isArray: boolean }
  | {
      readonly kind: 'pair'
      readonly text: string
      /** From the root of the document. */
      readonly path: readonly string[]
      /** The value without white space around it and without the comment behind it: `text.slice(valueStart, valueEnd)`. */
      readonly valueStart: number
      readonly valueEnd: number
    }

/** The statements of a document, in order. `text` is valid TOML, without a byte order mark. Throws when it cannot be followed. */
export function splitStatements(text: string): readonly TomlStatement[] {
  const statements: TomlStatement[] = []
  let table: readonly string[] = []
  let at = 0
  while (at < text.length) {
    const scanned = scanStatement(text, at)
    const piece = text.slice(at, scanned.end)
    const start = piece.trimStart()
    if (start === '' || start.startsWith('#')) statements.push({ kind: 'gap', text: piece })
    else if (start.startsWith('[')) {
      const isArray = start.startsWith('[[')
      table = headerPath(piece)
      statements.push({ kind: 'header', text: piece, path: table, isArray })
    } else {
      const raw = text.slice(scanned.equals + 1, scanned.code)
      const valueStart = scanned.equals + 1 + (raw.length - raw.trimStart().length) - at
      const path = [...table, ...keyPath(text.slice(at, scanned.equals))]
      statements.push({ kind: 'pair', text: piece, path, valueStart, valueEnd: valueStart + raw.trim().length })
    }
    at = scanned.end
  }
  return statements
}

interface Scanned {
  /** Behind the line end that closes the statement. */
  readonly end: number
  /** Where its last comment begins, else its line end. */
  readonly code: number
  /** The first `=` outside of strings; -1 = none. */
  readonly equals: number
}

/** Walks over strings, brackets and comments to the end of the line that closes the statement at `from`. */
function scanStatement(text: string, from: number): Scanned {
  let depth = 0
  let equals = -1
  let code = -1
  let at = from
  while (at < text.length) {
    const char = text[at]
    if (char === '"' || char === "'") {
      at = skipString(text, at, char)
      continue
    }
    if (char === '#') {
      if (depth === 0) code = at
      const lineEnd = text.indexOf('\n', at)
      at = lineEnd === -1 ? text.length : lineEnd
      continue
    }
    if (char === '\n' && depth === 0) return { end: at + 1, code: code === -1 ? at : code, equals }
    if (char === '[' || char === '{') depth++
    if (char === ']' || char === '}') depth--
    if (char === '=' && equals === -1) equals = at
    at++
  }
  return { end: text.length, code: code === -1 ? text.length : code, equals }
}

/** Where does the string that begins at `from` end? */
function skipString(text: string, from: number, quote: string): number {
  const isLong = text.startsWith(quote.repeat(3), from)
  const closing = isLong ? quote.repeat(3) : quote
  let at = from + closing.length
  while (at < text.length) {
    if (quote === '"' && text[at] === '\\') at += 2
    else if (text.startsWith(closing, at)) {
      at += closing.length
      // Up to two quotes may stand right before the three that close.
      while (isLong && text[at] === quote) at++
      return at
    } else at++
  }
  throw new Error('a string does not end')
}

function headerPath(piece: string): readonly string[] {
  const found: string[] = []
  let node: unknown = parse(piece)
  for (;;) {
    const inner: unknown = Array.isArray(node) ? node[0] : node
    const entry = typeof inner === 'object' && inner !== null ? Object.entries(inner)[0] : undefined
    if (entry === undefined) return found
    found.push(entry[0])
    node = entry[1]
  }
}

function keyPath(key: string): readonly string[] {
  return headerPath(`${key} = {}`)
}
