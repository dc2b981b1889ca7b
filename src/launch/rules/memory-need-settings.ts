import { DEFAULT_CACHE_TYPE } from '../../models/rules/cache-types.ts'
import type { NeedFlag, NeedRequest } from './memory-need-request.ts'

/** llama-server's own choices when nobody says. */
const AUTO_PARALLEL = 4
const DEFAULT_BATCH_TOKENS = 2_048
const DEFAULT_UBATCH_TOKENS = 512
const DEFAULT_DRAFT_TOKENS = 3
/** Ways of loading that leave the weights in the file's own pages. */
const MAPPED_MODES: ReadonlySet<string> = new Set(['auto', 'mmap'])

/** What the flags of a llama-server say about its memory. */
export interface MemorySettings {
  readonly parallel: number
  readonly unified: boolean
  readonly cacheTypeK: string
  readonly cacheTypeV: string
  readonly ubatchTokens: number
  readonly swaFull: boolean
  readonly flashAttention: boolean
  readonly kvOffload: boolean
  readonly isMapped: boolean
  /** Layers on the GPU; undefined = all. */
  readonly gpuLayers: number | undefined
  readonly mmprojOnGpu: boolean
  readonly draft: {
    readonly cacheTypeK: string
    readonly cacheTypeV: string
    readonly ubatchTokens: number
    /** Undefined = all. */
    readonly gpuLayers: number | undefined
    readonly onGpu: boolean
    /** Tokens that are drafted at most. */
    readonly tokens: number
  }
}

/** What does this command say about memory? Values that are no numbers count as not said. */
export function readMemorySettings(flags: readonly NeedFlag[]): MemorySettings {
  const find = (name: string) => flags.findLast(({ canonical }) => canonical === name)
  const text = (name: string) => find(name)?.values[0]
  const whole = (name: string) => {
    const value = text(name)
    return value !== undefined && /^-?\d{1,9}$/.test(value) ? Number(value) : undefined
  }
  const isOn = (name: string, byDefault: boolean) => {
    const found = find(name)
    return found === undefined ? byDefault : !isNegative(found.flag)
  }
  const layers = (name: string) => {
    const count = whole(name)
    return count === undefined || count < 0 ? undefined : count
  }
  const parallel = whole('--parallel') ?? 0
  const ubatchTokens = Math.min(
    positive(whole('--batch-size'), DEFAULT_BATCH_TOKENS),
    positive(whole('--ubatch-size'), DEFAULT_UBATCH_TOKENS),
  )
  return {
    parallel: parallel > 0 ? parallel : AUTO_PARALLEL,
    unified: isOn('--kv-unified', parallel <= 0),
    cacheTypeK: text('--cache-type-k') ?? DEFAULT_CACHE_TYPE,
    cacheTypeV: text('--cache-type-v') ?? DEFAULT_CACHE_TYPE,
    ubatchTokens,
    swaFull: isOn('--swa-full', false),
    flashAttention: !/^(?:off|0|false|disabled)$/.test(text('--flash-attn') ?? 'auto'),
    kvOffload: isOn('--kv-offload', true),
    isMapped:
      isOn('--mmap', true) &&
      !isOn('--mlock', false) &&
      !isOn('--direct-io', false) &&
      MAPPED_MODES.has(text('--load-mode') ?? 'auto'),
    gpuLayers: layers('--n-gpu-layers'),
    mmprojOnGpu: isOn('--mmproj-offload', true) && text('--mmproj-device') !== 'none',
    draft: {
      cacheTypeK: text('--spec-draft-type-k') ?? DEFAULT_CACHE_TYPE,
      cacheTypeV: text('--spec-draft-type-v') ?? DEFAULT_CACHE_TYPE,
      ubatchTokens: positive(whole('--spec-draft-n-ubatch'), ubatchTokens),
      gpuLayers: layers('--spec-draft-ngl'),
      onGpu: text('--spec-draft-device') !== 'none',
      tokens: positive(whole('--spec-draft-n-max'), DEFAULT_DRAFT_TOKENS),
    },
  }
}

const positive = (value: number | undefined, otherwise: number) =>
  value === undefined || value <= 0 ? otherwise : value

/** `--no-mmap`, `-nkvo`, `-no-kvu`. Only for flags of a pair. */
const isNegative = (flag: string) => /^(?:--no-|-n)/.test(flag)

/** Flags that put parts of a model where only the engine knows. */
const SCATTERING: ReadonlySet<string> = new Set([
  '--override-tensor',
  '--cpu-moe',
  '--n-cpu-moe',
  '--n-cpu-ffn',
  '--moe-cache-mib',
  '--rpc',
  '--spec-draft-override-tensor',
  '--spec-draft-cpu-moe',
  '--spec-draft-n-cpu-moe',
])
/** Numbers of the header that make the cache. */
const GEOMETRY_KEY =
  /\.(?:attention|ssm|wkv|shortconv|kda)\.|\.(?:block_count|embedding_length|full_attention_interval)=/
/** Variables by which llama-server takes settings that change its memory. */
const MEMORY_VARIABLE =
  /^LLAMA_ARG_(?:N_PARALLEL|KV_|NO_KV_|CACHE_TYPE_|N_GPU_LAYERS|SWA_FULL|U?BATCH|MMAP|NO_MMAP|MLOCK|LOAD_MODE|DIO|NO_DIO|FLASH_ATTN|CPU_MOE|N_CPU_|OVERRIDE_TENSOR|RPC|CTX_SIZE|MMPROJ|SPEC_|DRAFT_)/

/** What in this command makes its need one that hal0 cannot count, in one clause? Undefined = nothing. Source: SPEC 7 "what the estimate does not model". */
export function findUncountable({ flags, env, device }: NeedRequest): string | undefined {
  const scattering = flags.find(({ canonical }) => SCATTERING.has(canonical))
  // Without a GPU there is only one place.
  if (scattering !== undefined && (device !== 'cpu' || scattering.canonical === '--rpc')) {
    return `${scattering.flag} puts parts of the model where only the engine knows`
  }
  const override = flags.find(
    ({ canonical, values }) => canonical === '--override-kv' && values.some((value) => GEOMETRY_KEY.test(value)),
  )
  if (override !== undefined) return `${override.flag} replaces numbers of the header from which the cache is counted`
  const variable = Object.keys(env).find((name) => MEMORY_VARIABLE.test(name))
  return variable === undefined ? undefined : `${variable} in its environment changes what it allocates`
}
