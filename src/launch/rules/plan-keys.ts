import type { LaunchPlan } from '../../contract/launch-plan.ts'
import type { Dialect } from '../../contract/runner.ts'
import { lookUpFlag, plainName, tableOf } from './look-up-flag.ts'

const DIALECTS_IN_ORDER: readonly Dialect[] = ['llama-server', 'vllm', 'sglang', 'flm']

/** Keys of slot, model and profile that flags stand for, in every dialect. */
const KEYS: Readonly<Record<string, string>> = {
  '--model': 'model',
  '--model-path': 'model',
  '--alias': 'alias',
  '--served-model-name': 'alias',
  '--port': 'port',
  '--ctx-size': 'ctx_size',
  '--max-model-len': 'ctx_size',
  '--context-length': 'ctx_size',
  '--ctx-len': 'ctx_size',
  '--asr': 'npu.asr',
  '--embed': 'npu.embed',
  '--n-gpu-layers': 'n_gpu_layers',
  '--threads': 'threads',
  '--mmproj': 'vision',
  '--chat-template-file': 'chat_template',
  '--chat-template': 'chat_template',
  '--spec-type': 'speculation',
  '--spec-draft-model': 'speculation',
  '--spec-draft-device': 'speculation',
  '--speculative-config': 'speculation',
  '--speculative-algorithm': 'speculation',
  '--speculative-draft-model-path': 'speculation',
  '--reasoning-effort': 'reasoning_effort',
  '--reasoning-budget': 'reasoning_budget',
  '--batch-size': 'batch',
  '--ubatch-size': 'ubatch',
}

/** The name under which a flag is compared where the dialect is not known. */
export function canonicalName(flag: string): string {
  if (flag === '') return '--model'
  const dialect = DIALECTS_IN_ORDER.find((one) => tableOf(one).byName.has(plainName(flag)))
  return lookUpFlag(flag, dialect ?? 'llama-server').canonical
}

/** The key that a flag stands for in the user's files; undefined = it is only a flag. */
export function keyOfFlag(flag: string): string | undefined {
  return KEYS[canonicalName(flag)]
}

/** The dialect in which a plan is written. */
export function dialectOf(plan: LaunchPlan): Dialect {
  const has = (name: string) => plan.flags.some(({ flag }) => flag === name)
  if (has('--max-model-len')) return 'vllm'
  if (has('--context-length')) return 'sglang'
  return has('--ctx-len') ? 'flm' : 'llama-server'
}
