import type { Command } from 'commander'
import type { RouteExplanation } from '../../contract/route-explanation.ts'
import { showExamples } from '../command-help.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import type { Output } from '../output.ts'
import { openOwnZone } from '../own-zone.ts'
import { hasTimes, localTimes } from '../rules/local-times.ts'

interface RouteOptions extends GlobalOptions {
  readonly path?: string
}

/** `hal0 route [NAME]`. */
export function addRouteCommand(program: Command): void {
  const command = program
    .command('route')
    .description('which slot a request for a name would go to now, and why; sends none, loads nothing')
    .argument('[name]', 'what the request has as `model` (default: it names none)')
    .option('--path <path>', 'where the request is sent (default: /v1/chat/completions)')
    .action((name: string | undefined, _options, self: Command) => route(name, self.optsWithGlobals()))
  showExamples(command, ['hal0 route gpt-4o', 'hal0 route hal0/utility', 'hal0 route --path /v1/embeddings'])
}

/** JSON: the answer of GET /api/dispatch/explain. A name that leads nowhere is an answer too. Source: SPEC 11. */
async function route(name: string | undefined, options: RouteOptions): Promise<void> {
  const output = outputOf(options)
  const told = await (await connect(options)).explainRoute({ model: name, path: options.path })
  const zone = told.error !== null && hasTimes(told.error.message) ? await openOwnZone(options) : undefined
  output.result(told, () => {
    const text = routeText(told, output)
    return zone === undefined ? text : localTimes(text, zone)
  })
}

function routeText(told: RouteExplanation, output: Output): string {
  const steps = told.steps.map(({ n, text, outcome }) => [String(n), outcome, text])
  const candidates = told.candidates.map((row) => [
    row.slot,
    row.state,
    row.type,
    row.model_id ?? '-',
    String(row.in_flight),
    row.reason,
  ])
  return [
    headline(told),
    output.table(['STEP', 'OUTCOME', 'WHAT IT FOUND'], steps),
    ...(candidates.length === 0
      ? []
      : [output.table(['SLOT', 'STATE', 'TYPE', 'MODEL', 'IN FLIGHT', 'REASON'], candidates)]),
  ].join('\n\n')
}

function headline({ path, model, slot, decision, would_load, error }: RouteExplanation): string {
  const load = would_load && error === null ? ', which has to be loaded first' : ''
  const fallback = decision === 'fallback' ? ' as the fallback (nobody has this name)' : ''
  const whole = path.startsWith('/upstream/') ? ', to its engine as it is' : ''
  const asked = whole !== '' || model === '' ? `A request to ${path}` : `"${model}" on ${path}`
  const named = whole === '' && model === '' ? `${asked} that names no model` : asked
  const goes = slot === null ? `${named} goes nowhere` : `${named} goes to slot ${slot}${whole}${fallback}${load}`
  if (error === null) return `${goes}.`
  return `${goes}, and fails: ${error.status} ${error.code}: ${error.message}.\n${error.remedy}`
}
