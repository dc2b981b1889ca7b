import { createReadStream, createWriteStream, constants as fsConstants } from 'node:fs'
import { type FileHandle, open, rename, rm, stat, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { makeFolder } from '../../files/make-folder.ts'
import { undefinedIfMissing } from '../../kernel/errors.ts'
import { KIB, MIB } from '../../kernel/units.ts'
import { linesOfAttempt } from './rules/log-marker.ts'

export interface LogLimits {
  /** A log larger than this is rotated. */
  readonly maxBytes: number
  /** How much of its end goes to the `.1` file. */
  readonly keepBytes: number
}

/** At most 16 + 4 MiB a slot, plus what an engine writes between two checks (a minute). */
export const DEFAULT_LOG_LIMITS: LogLimits = { maxBytes: 16 * MIB, keepBytes: 4 * MIB }

/** A line is looked for within so much; a longer one is cut. */
const LINE_SEARCH_BYTES = 64 * KIB
const NEWLINE = 10

/** Engine logs may hold prompts: only the daemon's user reads them. */
const LOG_MODE = 0o600

/** Opens an engine's log for appending; makes file and folders. The caller closes it. Throws the system's error. */
export async function openLog(path: string): Promise<FileHandle> {
  await makeFolder(dirname(path))
  return await open(path, fsConstants.O_WRONLY | fsConstants.O_APPEND | fsConstants.O_CREAT, LOG_MODE)
}

/**
 * Rotates by copy and truncate, for the engine keeps its file open (O_APPEND): the end of a log over the limit replaces
 * `<path>.1`, then the log starts at 0. What the engine writes between copy and cut is lost. Returns whether it rotated; a missing
 * log is fine. If the copy fails (disk full) the log is cut all the same, then the copy's error is thrown. Source: SPEC 2.
 */
export async function rotateLog(path: string, limits: LogLimits): Promise<boolean> {
  const facts = await stat(path).catch(undefinedIfMissing)
  if (facts === undefined || !facts.isFile() || facts.size <= limits.maxBytes) return false
  const copy = `${path}.1.new`
  try {
    const start = await lineStartAfter(path, Math.max(0, facts.size - limits.keepBytes))
    // The end is fixed: an engine may write faster than this reads.
    const end = facts.size + limits.keepBytes
    await pipeline(createReadStream(path, { start, end }), createWriteStream(copy, { mode: LOG_MODE }))
    await rename(copy, `${path}.1`)
  } finally {
    await rm(copy, { force: true })
    await truncate(path, 0)
  }
  return true
}

export interface LogTailOptions {
  /** Only what this attempt's engine wrote (and not an earlier one). */
  readonly attemptId?: string
}

/**
 * The last lines of an engine's log, at most `maxBytes` of it, oldest first; [] when there is no log. Right after a rotation
 * the lines before it are taken from `<path>.1`. Throws the system's error if the log may not be read.
 */
export async function readLogTail(
  path: string,
  maxBytes: number,
  options: LogTailOptions = {},
): Promise<readonly string[]> {
  const current = await readTail(path, maxBytes)
  const missingBytes = maxBytes - current.bytes.length
  const older = missingBytes > 0 ? await readTail(`${path}.1`, missingBytes) : { bytes: Buffer.alloc(0), isCut: false }
  const isCut = current.isCut || older.isCut
  const lines = linesOf(Buffer.concat([older.bytes, current.bytes]), isCut)
  return options.attemptId === undefined ? lines : linesOfAttempt(lines, options.attemptId)
}

/**
 * Cuts bytes into lines, without line ends and without empty lines at either end. `isCut`: the bytes begin in the middle of a line;
 * that part is left out unless nothing else is there. Half a character at a cut is left out, not shown as a wrong one.
 */
export function linesOf(bytes: Buffer, isCut: boolean): readonly string[] {
  const end = bytes.subarray(isCut ? afterCut(bytes) : 0)
  // `stream` keeps half a character at the end to itself: the engine is still writing it.
  const text = new TextDecoder().decode(end, { stream: true })
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''))
  const first = lines.findIndex((line) => line !== '')
  return first === -1 ? [] : lines.slice(first, lines.findLastIndex((line) => line !== '') + 1)
}

function afterCut(bytes: Buffer): number {
  const newline = bytes.indexOf(NEWLINE)
  if (newline !== -1 && newline < bytes.length - 1) return newline + 1
  const isInsideCharacter = (byte: number | undefined) => byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000
  let start = 0
  while (start < 3 && isInsideCharacter(bytes[start])) start += 1
  return start
}

async function readTail(path: string, maxBytes: number): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const handle = await open(path, 'r').catch(undefinedIfMissing)
  if (handle === undefined) return { bytes: Buffer.alloc(0), isCut: false }
  try {
    const { size } = await handle.stat()
    const start = Math.max(0, size - maxBytes)
    // One byte more tells whether the cut happens to be at the start of a line.
    const from = Math.max(0, start - 1)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from)
    const bytes = buffer.subarray(0, bytesRead)
    if (start === 0) return { bytes, isCut: false }
    return { bytes: bytes.subarray(1), isCut: bytes[0] !== NEWLINE }
  } finally {
    await handle.close()
  }
}

/** Where the next line starts at or after `offset`, so that the kept part begins with a whole one. */
async function lineStartAfter(path: string, offset: number): Promise<number> {
  if (offset === 0) return 0
  const handle = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(LINE_SEARCH_BYTES), 0, LINE_SEARCH_BYTES, offset - 1)
    const newline = buffer.subarray(0, bytesRead).indexOf(NEWLINE)
    return newline === -1 ? offset : offset + newline
  } finally {
    await handle.close()
  }
}
