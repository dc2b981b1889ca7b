import { patch } from '@decimalturn/toml-patch'
import { parse, stringify } from 'smol-toml'
import { withoutUndefined } from '../../kernel/without-undefined.ts'
import { editStatements } from './edit-statements.ts'
import { isSameData } from './rules/same-data.ts'
import { splitStatements } from './toml-statements.ts'

/** A document of TOML data; a key whose value is undefined counts as absent. */
export type TomlData = Readonly<Record<string, unknown>>

export interface EditedToml {
  readonly text: string
  /** False = comments may be lost or stand elsewhere: the old text deserves a copy. */
  readonly keptComments: boolean
}

const BOM = '\uFEFF'

/**
 * The text of a hand-written document, changed so that it means `next`: what does not change stays as it is, comments and order
 * included; a comment right above or behind a key that goes, goes with it. Every answer has been read back and means `next`.
 * `text` is valid TOML and `next` can be written as TOML; throws when one is not. Source: SPEC 2.
 */
export function editToml(text: string, next: TomlData): EditedToml {
  const bom = text.startsWith(BOM) ? BOM : ''
  const body = text.slice(bom.length)
  const before = parse(body)
  if (isSameData(before, next)) return { text, keptComments: true }
  const ours = attempt(() => editStatements(body, before, next), next)
  if (ours !== undefined) return { text: bom + ours, keptComments: true }
  const theirs = attempt(() => patch(body, withoutUndefined(next)), next)
  if (theirs !== undefined) return { text: bom + theirs, keptComments: keepsComments(body, theirs) }
  const plain = stringify(withoutUndefined(next))
  if (!isSameData(parse(plain), next)) throw new TypeError('this data cannot be written as TOML')
  return { text: bom + plain, keptComments: linesWithComment(body).length === 0 }
}

/** The edited text if it could be made and means `next`; both editors may give up, or get a rare document wrong. */
function attempt(edit: () => string, next: TomlData): string | undefined {
  try {
    const text = edit()
    return isSameData(parse(text), next) ? text : undefined
  } catch {
    return undefined
  }
}

/** Errs on the side of "no": a copy too many costs nothing. */
function keepsComments(before: string, after: string): boolean {
  return linesWithComment(before).every((comment) => after.includes(comment))
}

function linesWithComment(text: string): string[] {
  return splitStatements(text).flatMap((statement) =>
    statement.text
      .split('\n')
      .filter((line) => line.includes('#'))
      .map((line) => line.slice(line.indexOf('#')).trimEnd()),
  )
}
