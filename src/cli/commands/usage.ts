import { type Command, InvalidArgumentError, Option } from 'commander'
import { USAGE_BY, type UsageBy, type UsageReport, type UsageSums } from '../../contract/usage.ts'
import { HOUR_MS, isoTime, MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'
import { showExamples } from '../command-help.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import type { Output } from '../output.ts'
import { openOwnZone } from '../own-zone.ts'
import { localTimes } from '../rules/local-times.ts'
import type { Zone } from '../rules/zone.ts'

interface UsageCommandOptions extends GlobalOptions {
  readonly by: UsageBy
  /** How far back, ms. */
  readonly since: number
}

const DAY_MS = 24 * HOUR_MS
const SPANS_MS: Readonly<Record<string, number>> = { h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS }

/** `hal0 usage`. */
export function addUsageCommand(program: Command): void {
  const command = program
    .command('usage')
    .description('requests and tokens, as the engines counted them, summed by the hour')
    .addOption(new Option('--by <what>', 'what one line stands for').choices(USAGE_BY).default('slot'))
    .addOption(
      new Option('--since <span>', 'how far back: hours (12h), days (7d) or weeks (4w)')
        .argParser(spanMs)
        .default(7 * DAY_MS, '7d'),
    )
    .action((_options, self: Command) => usage(self.optsWithGlobals()))
  showExamples(command, ['hal0 usage', 'hal0 usage --by day --since 4w', 'hal0 usage --by route --since 12h --json'])
}

/** JSON: the answer of GET /api/usage. */
async function usage(options: UsageCommandOptions): Promise<void> {
  const output = outputOf(options)
  const client = await connect(options)
  const report = await client.usage({ by: options.by, from: isoTime(Date.now() - options.since) })
  const zone = await openOwnZone(options)
  output.result(report, () => (report.groups.length === 0 ? 'No request in this time.' : table(report, output, zone)))
}

function table({ by, groups, total }: UsageReport, output: Output, zone: Zone): string {
  const rows = groups.map(({ key, name, ...sums }) => [keyText(by, key, name, zone), ...cells(sums)])
  return output.table(
    [by.toUpperCase(), 'REQUESTS', 'FAILED', 'PROMPT', 'COMPLETION', 'CACHED', 'UNKNOWN', 'TIME'],
    [...rows, ...(groups.length > 1 ? [['total', ...cells(total)]] : [])],
  )
}

function cells(sums: UsageSums): string[] {
  const counts = [sums.requests, sums.failed, sums.prompt_tokens, sums.completion_tokens, sums.cached_tokens]
  return [...counts, sums.unknown].map(String).concat(timeText(sums.busy_ms))
}

/** What a line stands for. `2026-01-31T18:00:00.000Z` → `2026-01-31 18:00 UTC`; of an id what people call it; titles may be the same. */
export function keyText(by: UsageBy, key: string | null, name: string | null, zone: Zone): string {
  if (key === null) return '-'
  if (name !== null) return by === 'reservation' ? `${localTimes(name, zone)} (${key})` : name
  if (by === 'day') return key.slice(0, 10)
  return by === 'hour' ? `${key.slice(0, 10)} ${key.slice(11, 16)} UTC` : key
}

function timeText(ms: number): string {
  if (ms < MINUTE_MS) return `${(ms / SECOND_MS).toFixed(1)} s`
  if (ms < HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`
  return `${(ms / HOUR_MS).toFixed(1)} h`
}

/** `7d` → ms. Throws what commander tells as wrong usage. */
function spanMs(text: string): number {
  const [, digits = '', unit = ''] = /^([1-9]\d{0,3})([hdw])$/.exec(text) ?? []
  const lengthMs = SPANS_MS[unit]
  if (lengthMs === undefined) throw new InvalidArgumentError('Expected hours, days or weeks, like 12h, 7d or 4w.')
  return Number(digits) * lengthMs
}
