import type { ResolvedLaunch } from '../../contract/resolved.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import type { Output } from '../output.ts'
import { shellLine } from '../shell-line.ts'

export interface ResolvedOptions extends GlobalOptions {
  /** Only the command, as a line for a shell. */
  readonly argv?: boolean
}

/** `hal0 slot resolved NAME`. JSON: the answer of GET /api/slots/NAME/resolved. Source: SPEC 9. */
export async function slotResolved(name: string, options: ResolvedOptions): Promise<void> {
  const output = outputOf(options)
  const launch = await (await connect(options)).slots.resolved(name)
  output.result(launch, () => (options.argv === true ? shellLine(launch.argv) : resolvedText(launch, output)))
}

function resolvedText(launch: ResolvedLaunch, output: Output): string {
  const flags = launch.flags.map(({ flag, values, layer, replaced }) => [
    flag,
    shellLine(values),
    layer,
    replaced.map((one) => `${shellLine([one.flag, ...one.values])} (${one.layer})`).join(', '),
  ])
  const removed = launch.removed.map(({ flag, values, layer, detail }) => [flag, shellLine(values), layer, detail])
  const parts = [
    output.table(['KEY', 'VALUE'], facts(launch)),
    output.table(['FLAG', 'VALUE', 'LAYER', 'REPLACED'], flags),
    ...(removed.length === 0 ? [] : [`Left out:\n${output.table(['FLAG', 'VALUE', 'LAYER', 'WHY'], removed)}`]),
    ...(launch.notes.length === 0 ? [] : [launch.notes.map((note) => `note: ${note}`).join('\n')]),
  ]
  return parts.join('\n\n')
}

/** They are started without a context window: that of the answer is a stand-in. */
const RUNNERS_WITHOUT_CONTEXT = ['comfyui', 'kokoro', 'moonshine', 'qwen3tts', 'vibevoice']

function facts(launch: ResolvedLaunch): string[][] {
  const { speculation, thinking, env } = launch
  const hasNoContext = launch.ctx_source === 'fallback' && RUNNERS_WITHOUT_CONTEXT.includes(launch.runner)
  const enabled = thinking.enabled === null ? 'the template decides' : thinking.enabled ? 'on' : 'off'
  const pinned = thinking.pinned_by === null ? '' : `, pinned by ${thinking.pinned_by}`
  return [
    ['program', launch.argv[0] ?? ''],
    ['model', launch.model_id ?? ''],
    ['profile', `${launch.profile} (${launch.profile_source})`],
    ['runner', launch.runner],
    ['context', hasNoContext ? '' : `${launch.ctx_effective} (${launch.ctx_source})`],
    ['speculation', speculation.detail === '' ? speculation.mode : `${speculation.mode}: ${speculation.detail}`],
    ['thinking', `${enabled} (${thinking.source}${pinned})`],
    ['environment', shellLine(Object.entries(env).map(([key, value]) => `${key}=${value}`))],
    ['restart needed', launch.restart_needed.join(', ')],
    ['drift', launch.config_drift.join(', ')],
  ].filter(([, value]) => value !== '')
}
