import { readFile } from 'node:fs/promises'
import { parseCount } from './rules/parse-count.ts'

/** Takes a line for `problems` of the hardware report. */
export type ReportProblem = (line: string) => void

/** A reader for whom a failure is no news. */
export const ignoreProblem: ReportProblem = () => {}

/** Longest piece of a file's text in a message. */
const SHOWN_CHARS = 40

/** The text of a small file, trimmed. Undefined = it is not there, or (reported) cannot be read. Never rejects. */
export async function readFact(path: string, problem: ReportProblem): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (cause) {
    const code = errorCode(cause)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') problem(`${path} cannot be read (${code})`)
    return undefined
  }
}

/** A whole number ≥ 0 from a file. Undefined = it is not there, or (reported) is none. Never rejects. */
export async function readCount(
  path: string,
  problem: ReportProblem,
  parse: (text: string) => number | undefined = parseCount,
): Promise<number | undefined> {
  const text = await readFact(path, problem)
  if (text === undefined) return undefined
  const value = parse(text)
  if (value === undefined)
    problem(`${path} says ${JSON.stringify(text.slice(0, SHOWN_CHARS))}, which is no such figure`)
  return value
}

function errorCode(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
}
