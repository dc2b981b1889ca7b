type Environment = Readonly<Record<string, string | undefined>>

/** Where programs, the user's files, the clock, certificates and the loader find what they need. */
const INHERITED_NAMES = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TMPDIR',
  'XDG_RUNTIME_DIR',
  'XDG_CACHE_HOME',
  'LD_LIBRARY_PATH',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'GPU_DEVICE_ORDINAL',
])

/** Locale, the GPU stacks (NVIDIA, AMD, Intel, Vulkan), the compute libraries and the model cache. */
const INHERITED_PREFIXES = [
  'LC_',
  'CUDA_',
  'NVIDIA_',
  'NCCL_',
  'HIP_',
  'ROCR_',
  'ROCM_',
  'HSA_',
  'RADV_',
  'MESA_',
  'VK_',
  'ONEAPI_',
  'SYCL_',
  'ZE_',
  'GGML_',
  'OMP_',
  'HF_',
]

/** Wins over the lists above: HF_TOKEN and the like are the daemon's, and keys never reach an engine (SPEC 14). */
const CREDENTIAL = /(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_|$)/

/**
 * Whether an engine inherits a variable of the daemon. What is not listed stays out, so NODE_OPTIONS, LLAMA_ARG_*, API keys and
 * whatever a shell happened to export do not change how an engine runs. Source: SPEC 10.
 */
export function isInherited(name: string): boolean {
  if (CREDENTIAL.test(name)) return false
  return INHERITED_NAMES.has(name) || INHERITED_PREFIXES.some((prefix) => name.startsWith(prefix))
}

/** The whole environment of an engine: what it inherits, then `layers`, the later ones winning. */
export function engineEnvironment(daemonEnv: Environment, ...layers: readonly Environment[]): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(daemonEnv)) {
    if (value !== undefined && isInherited(name)) env[name] = value
  }
  for (const layer of layers) {
    for (const [name, value] of Object.entries(layer)) {
      if (value !== undefined) env[name] = value
    }
  }
  return env
}
