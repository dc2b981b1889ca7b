import { hostname } from 'node:os'
import { laneManualRequestSchema } from '../../contract/lane.ts'
import { checked } from '../checked.ts'
import { connect } from '../connect.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { chooseFeedBase } from '../feed-base.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { effectText, targetText } from '../lane-words.ts'
import type { TimeZoneOption } from '../own-zone.ts'
import { loadTimeText, withSlotProgress } from '../slot-progress.ts'
import { openTimes } from '../times.ts'

export interface LaneLoadOptions extends GlobalOptions, TimeZoneOption {
  readonly profile?: string
  readonly until?: string
}

/**
 * `hal0 lane load NAME MODEL`, and with null `hal0 lane unload NAME`: a manual choice. JSON: the answer of POST /api/lanes/NAME/manual. It ends
 * with 1 when the choice will never count.
 */
export async function laneChoose(name: string, model: string | null, options: LaneLoadOptions): Promise<ExitCode> {
  const output = outputOf(options)
  const times = await openTimes(options, output)
  const until = times.readIso('--until', options.until)
  const { profile } = options
  const request = checked(laneManualRequestSchema, {
    model,
    ...(profile === undefined ? {} : { profile }),
    ...(until === undefined ? {} : { until }),
  })
  const { lanes } = await connect(options)
  const answer = await lanes.setManual(name, request)
  output.result(answer, () => `lane ${name}: ${effectText(answer, times.zone)}`)
  return answer.effect === 'never' ? EXIT.failed : EXIT.ok
}

/** `hal0 lane clear NAME`. JSON: the row. */
export async function laneClear(name: string, options: GlobalOptions): Promise<void> {
  const output = outputOf(options)
  const row = await (await connect(options)).lanes.clearManual(name)
  output.result(row, () => `lane ${name}: no manual choice; ${targetText(row.target)} [${row.reason}]`)
}

/** `hal0 lane reload NAME`. JSON: the row of its slot. */
export async function laneReload(name: string, options: GlobalOptions): Promise<void> {
  const output = outputOf(options)
  const client = await connect(options)
  const result = await withSlotProgress(client, name, output, async () => ({
    done: true,
    slot: await client.lanes.reload(name),
  }))
  if (!result.done) return
  const { slot } = result
  const model = slot.model_id === null ? '' : ` with ${slot.model_id}`
  output.result(slot, () => `lane ${name} is ${slot.state}${model}${loadTimeText(slot)}`)
}

/** `hal0 lane calendar NAME`: the URL of its feed, alone on stdout. JSON: `{lane, url}`. */
export async function laneCalendar(name: string, options: GlobalOptions): Promise<void> {
  const output = outputOf(options)
  const client = await connect(options)
  // A slip in the name must not cost the old token.
  await client.lanes.show(name)
  const { token, base_url: told } = await client.people.createCalendarToken()
  const url = `${chooseFeedBase(told, client.baseUrl, hostname())}/api/lanes/${encodeURIComponent(name)}/calendar.ics?token=${encodeURIComponent(token)}`
  output.note('This made a new token: every feed address of yours that was made before has ended, for all lanes.')
  output.result({ lane: name, url }, () => url)
  output.note('Who has this address reads the bookings of the lane as you do; it is shown this once.')
}
