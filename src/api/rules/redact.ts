import { plainFailure } from '../../contract/plain-failure.ts'
import { type ErrorCode, errorRegistry } from '../../kernel/error-registry.ts'
import { sentence } from '../../kernel/sentence.ts'

/** What stands where a member may not read: texts that may name files of this machine or lines of an engine's log. */
export const HIDDEN = 'Administrators see the details.'

/**
 * For each key of a row: is it told to members as it is, or what is told in its place? A key that is new in the contract does not compile until
 * somebody has decided. Source: SPEC 14 "without env, paths or logs".
 */
export type Told<Row> = { readonly [Key in keyof Row]-?: 'told' | ((row: Row) => Row[Key]) }

/** The row as members read it. A key that nobody decided on is left out. */
export function redact<Row extends object>(row: Row, told: Told<Row>): Row {
  const keys = Object.keys(told) as (keyof Row)[]
  const entries = keys.map((key) => {
    const decision = told[key]
    return [key, decision === 'told' ? row[key] : decision(row)] as const
  })
  return Object.fromEntries(entries) as Row
}

/** In the place of a text that is null when there is nothing to say. `what`: what may be said of it, a sentence. */
export function hideText(text: string | null, what = ''): string | null {
  return text === null ? null : `${what} ${HIDDEN}`.trim()
}

/** In the place of the message of a failure: what everybody is told of it. */
export function hideFailure(failure: Parameters<typeof plainFailure>[0]): string {
  const plain = sentence(plainFailure(failure))
  return plain === '' ? HIDDEN : `${plain} ${HIDDEN}`
}

/** What the registry advises for a code: the same for everybody, whatever happened. */
export function generalRemedy(code: string): string {
  return Object.hasOwn(errorRegistry, code) ? errorRegistry[code as ErrorCode].remedy : HIDDEN
}
