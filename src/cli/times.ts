import type { Command } from 'commander'
import { isoTime } from '../kernel/units.ts'
import { UsageError } from './cli-error.ts'
import type { GlobalOptions } from './globals.ts'
import type { Output } from './output.ts'
import { openOwnZone, type TimeZoneOption } from './own-zone.ts'
import { DURATION_FORMS, readDuration } from './rules/read-duration.ts'
import { readTime, TIME_FORMS } from './rules/read-time.ts'
import { instantsOf, wallOf, type Zone } from './rules/zone.ts'

const DAY_MS = 86_400_000

export function addTimeZoneOption(command: Command): Command {
  return command.option(
    '--time-zone <zone>',
    "zone in which times are read and shown (default: TZ, else your user's, else this machine's)",
  )
}

/** Times as a command line says them. */
export interface Times {
  readonly zone: Zone
  readonly nowMs: number
  /** The moment that an option names, epoch ms. A bare `18:00` is the first at or after `fromMs` (default: now). Errors: UsageError. */
  read(option: string, text: string, fromMs?: number): number
  /** As `read`, ISO 8601 UTC; absent stays absent. */
  readIso(option: string, text: string | undefined, fromMs?: number): string | undefined
  /** When the day of this moment began in the zone, epoch ms. */
  startOfDay(epochMs: number): number
}

/** Times in the zone of `openOwnZone`. Errors: UsageError (no such zone). */
export async function openTimes(options: GlobalOptions & TimeZoneOption, output: Output): Promise<Times> {
  return timesIn(await openOwnZone(options), output)
}

export function timesIn(zone: Zone, output: Output): Times {
  const nowMs = Date.now()
  const read = (option: string, text: string, fromMs = nowMs): number => {
    const result = readTime(text, { nowMs, zone, fromMs })
    if (!result.ok) {
      const place = result.error.includes(text) ? option : `${option} ${JSON.stringify(text)}`
      throw new UsageError(`${place}: ${result.error}.`, `Write a time as ${TIME_FORMS}.`)
    }
    const { ms, isTwice } = result.value
    if (isTwice && !output.json) {
      output.note(
        `${option}: the clocks of ${zone.name} show ${JSON.stringify(text)} twice; the first is taken: ${isoTime(ms)}`,
      )
    }
    return ms
  }
  return {
    zone,
    nowMs,
    read,
    readIso: (option, text, fromMs) => (text === undefined ? undefined : isoTime(read(option, text, fromMs))),
    startOfDay(epochMs) {
      const dayMs = Math.floor(wallOf(epochMs, zone) / DAY_MS) * DAY_MS
      // Some zones put their clocks forward at midnight.
      return instantsOf(dayMs, zone)[0] ?? dayMs - zone.offsetMs(epochMs)
    },
  }
}

/** The minutes that an option names; not always whole. Errors: UsageError. */
export function readMinutes(option: string, text: string): number {
  const ms = readDuration(text.trim())
  if (ms !== undefined) return ms / 60_000
  throw new UsageError(`${option}: ${JSON.stringify(text)} is no length of time.`, `Write it as ${DURATION_FORMS}.`)
}
