/**
 * Variables that a slot may not set, each kind with its owner. Names are compared as the system does: case counts. Allowed on purpose:
 * HF_TOKEN and proxies (an engine such as vLLM fetches tokenizers with them; hal0 neither reads nor logs them), and everything that
 * tunes libraries (OMP_*, GGML_*, HIP_*, CUDA_*). Source: SPEC 3 "One gate".
 */
const DENIED: readonly { readonly pattern: RegExp; readonly owner: string }[] = [
  { pattern: /^LLAMA_ARG_/, owner: 'the engine reads it as a launch option; profiles own those' },
  { pattern: /^(LLAMA_API_KEY|VLLM_API_KEY|SGLANG_API_KEY)$/, owner: 'hal0 draws the engine key for each start' },
  { pattern: /^__proto__$/, owner: 'no program is given a variable of this name' },
  { pattern: /^HAL0_/, owner: 'hal0 marks its engines with these' },
  { pattern: /^(LLAMA_LOG_FILE)$/, owner: 'hal0 owns the log of a slot' },
  {
    pattern:
      /^(LD_.*|GCONV_PATH|GGML_BACKEND_PATH|PATH|BASH_ENV|ENV|NODE_OPTIONS|NODE_PATH|PYTHONPATH|PYTHONHOME|PYTHONSTARTUP|PYTHONUSERBASE|PYTHONINSPECT|PYTHONBREAKPOINT|PERL5OPT|PERL5LIB|RUBYOPT|RUBYLIB)$/,
    owner: 'it decides which code the engine runs; set `binary` under [runners.<key>] in hal0.toml instead',
  },
]

/** Who owns this environment variable, so that a slot may not set it? One clause; undefined = the slot may. */
export function envOwnerOf(variable: string): string | undefined {
  return DENIED.find(({ pattern }) => pattern.test(variable))?.owner
}
