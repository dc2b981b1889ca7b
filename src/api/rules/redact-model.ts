import type { ModelRow } from '../../contract/model.ts'
import { HIDDEN, redact, type Told } from './redact.ts'

/** The keys of a model's row as members read them: no file of this machine is named. */
export const MODEL_TOLD: Told<ModelRow> = {
  id: 'told',
  path: () => '',
  files: () => [],
  size_bytes: 'told',
  quant: 'told',
  architecture: 'told',
  parameters: 'told',
  native_ctx: 'told',
  chat_template: () => null,
  mmproj: () => null,
  drafter: () => null,
  mtp: 'told',
  jinja: 'told',
  tags: 'told',
  capabilities: 'told',
  license: 'told',
  hf_repo: 'told',
  hf_filename: 'told',
  sha256: 'told',
  preferred_profile: 'told',
  missing: () => [],
  problem: ({ problem, missing }) => (problem === null && missing.length === 0 ? null : HIDDEN),
  bound_by: 'told',
}

/** A model's row without paths. Source: SPEC 14. */
export function redactModel(row: ModelRow): ModelRow {
  return redact(row, MODEL_TOLD)
}
