import { type LaneConfig, laneConfigSchema } from '../../../contract/lane-config.ts'
import { findSchemaMistakes } from '../../toml/rules/schema-mistakes.ts'
import type { Table } from '../../toml/rules/table.ts'

/** One mistake in a lane, in words for people. */
export interface LaneFinding {
  /** Dotted, for example `default.model`. */
  readonly key: string
  readonly message: string
}

export type LaneInspection =
  | { readonly ok: true; readonly config: LaneConfig }
  | { readonly ok: false; readonly findings: readonly LaneFinding[] }

/** Every mistake of a lane by itself, or what it says with defaults filled in. `name`: of its file. Source: SPEC 2, 12. */
export function inspectLane(data: Table, name: string): LaneInspection {
  const parsed = laneConfigSchema.safeParse(data)
  const findings = parsed.success
    ? []
    : findSchemaMistakes(laneConfigSchema, parsed.error).map(({ path, expected }) => ({
        key: path.join('.'),
        message: expected,
      }))
  const said = data['name']
  if (typeof said === 'string' && said !== name && !findings.some(({ key }) => key === 'name')) {
    findings.push({ key: 'name', message: `expected "${name}", the name of the file` })
  }
  if (parsed.success && findings.length === 0) {
    findings.push(...findContradictions(parsed.data))
    if (findings.length === 0) return { ok: true, config: parsed.data }
  }
  return { ok: false, findings }
}

/** What is right by itself, and cannot be meant together. */
function findContradictions({ device, gpus, limits }: LaneConfig): readonly LaneFinding[] {
  const findings: LaneFinding[] = []
  const onGpu = device.startsWith('gpu-')
  if (onGpu && gpus.length === 0) {
    findings.push({ key: 'gpus', message: `expected the GPUs of the lane, for example [0]: it runs on ${device}` })
  }
  if (!onGpu && gpus.length > 0) {
    const message = `expected no GPUs, as device is ${device}; set device to the GPUs' kind (for example gpu-cuda), or take gpus out`
    findings.push({ key: 'gpus', message })
  }
  const { min_minutes: minMinutes, max_hours: maxHours } = limits
  if (minMinutes > maxHours * 60) {
    const message = `expected ${Math.floor(maxHours * 60)} or less, as limits.max_hours is ${maxHours}: nobody could book`
    findings.push({ key: 'limits.min_minutes', message })
  }
  return findings
}
