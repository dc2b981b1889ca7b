import type { ErrorCode } from '../../src/kernel/error-registry.ts'

/** What no writer may get past the gate: keys to add to a slot that is right otherwise. */
export interface DeniedPayload {
  /** For test titles. */
  readonly name: string
  /** A part of a slot; also right as the body of a PUT. */
  readonly payload: Readonly<Record<string, unknown>>
  /** Of a writer (API, CLI, seed, stack, import). */
  readonly code: ErrorCode
  /** Of the same keys in a file on disk. */
  readonly diskCode: ErrorCode
  /** Keys or variables that the message names. */
  readonly named: readonly string[]
}

const tuning = (name: string, payload: DeniedPayload['payload'], ...named: string[]): DeniedPayload => ({
  name,
  payload,
  code: 'slot.tuning_key_denied',
  diskCode: 'slot.unconverted',
  named,
})
const variable = (name: string, value = '1'): DeniedPayload => ({
  name: `variable ${name}`,
  payload: { server: { env: { [name]: value } } },
  code: 'slot.llama_env_denied',
  diskCode: 'slot.llama_env_denied',
  named: [name],
})

/** A table for every writer's tests: each row is tried, and each is refused with nothing written. Source: SPEC 3 "One gate". */
export const DENIED_PAYLOADS: readonly DeniedPayload[] = [
  tuning('[model] context_size', { model: { context_size: 4096 } }, 'model.context_size'),
  tuning('[model] ctx_size', { model: { ctx_size: 4096 } }, 'model.ctx_size'),
  tuning('parallel', { parallel: 4 }, 'parallel'),
  tuning('chat_template', { chat_template: '/x.jinja' }, 'chat_template'),
  tuning('[model] chat_template', { model: { chat_template: 'chatml' } }, 'model.chat_template'),
  tuning('workers', { workers: 2 }, 'workers'),
  tuning('mtp', { mtp: true }, 'mtp'),
  tuning('[tune] mtp', { tune: { mtp: true } }, 'tune.mtp'),
  tuning('speculation', { speculation: 'off' }, 'speculation'),
  tuning('enable_thinking', { enable_thinking: false }, 'enable_thinking'),
  tuning('vision', { vision: 'off' }, 'vision'),
  tuning('[server] extra_args', { server: { extra_args: '--temp 0' } }, 'server.extra_args'),
  tuning('ctx_size', { ctx_size: 4096 }, 'ctx_size'),
  tuning('reasoning_effort', { reasoning_effort: 'low' }, 'reasoning_effort'),
  tuning('reasoning_budget', { reasoning_budget: 100 }, 'reasoning_budget'),
  tuning('flags', { flags: ['--temp', '0'] }, 'flags'),
  tuning('[tune] flags', { tune: { flags: '--temp 0' } }, 'tune.flags'),
  tuning('mmproj', { mmproj: '/x.gguf' }, 'mmproj'),
  tuning('jinja', { jinja: true }, 'jinja'),
  tuning('native_ctx', { model: { native_ctx: 4096 } }, 'model.native_ctx'),
  tuning('another spelling', { 'ctx-size': 4096, extraArgs: '--temp 0' }, 'ctx-size', 'extraArgs'),
  tuning(
    'many at once',
    { parallel: 1, model: { ctx_size: 1 }, server: { extra_args: '' } },
    'parallel',
    'model.ctx_size',
    'server.extra_args',
  ),
  tuning('a table as a value', { model: { ctx_size: { a: 1 } } }, 'model.ctx_size'),
  variable('LLAMA_ARG_PORT', '1'),
  variable('LLAMA_ARG_CTX_SIZE', '99'),
  variable('LLAMA_API_KEY', 'k'),
  variable('VLLM_API_KEY', 'k'),
  variable('HAL0_HOME', '/x'),
  variable('LD_PRELOAD', '/x.so'),
  variable('LD_LIBRARY_PATH', '/x'),
  variable('PATH', '/x'),
  variable('NODE_OPTIONS', '--inspect'),
  variable('PYTHONPATH', '/x'),
  variable('PYTHONSTARTUP', '/x.py'),
  variable('GGML_BACKEND_PATH', '/x.so'),
  {
    name: '[tune] on an embedding slot',
    payload: { type: 'embedding', tune: { ctx_size: 4096 } },
    code: 'slot.config_error',
    diskCode: 'slot.config_error',
    named: ['[tune]', 'ctx_size'],
  },
  {
    name: '[tune] on the NPU',
    payload: { device: 'npu', tune: { enable_thinking: true } },
    code: 'slot.config_error',
    diskCode: 'slot.config_error',
    named: ['[tune]', 'npu'],
  },
  {
    name: 'enabled',
    payload: { enabled: true },
    code: 'validation.invalid',
    diskCode: 'config.invalid',
    named: ['enabled', 'model.default'],
  },
  {
    name: 'an unknown key',
    payload: { prot: 8081 },
    code: 'validation.invalid',
    diskCode: 'config.invalid',
    named: ['prot', 'did you mean port?'],
  },
]
