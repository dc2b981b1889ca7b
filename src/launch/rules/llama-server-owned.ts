import { type DeniedPattern, type FlagFacts, readFlagRows } from './flag-facts.ts'
import { INSTEAD } from './flag-owners.ts'

const HAL0_DOWNLOADS = 'hal0 fetches models: `hal0 model pull`, then [model] default of the slot'
const HAL0_SERVES = 'the engine would print something and not serve'
const HAL0_ROUTER = 'hal0 decides which models run; each has a slot of its own'
const HAL0_TOOLS = 'hal0 runs engines that only answer; tools and agents belong to the client'
const MODEL_PROJECTOR = 'the model owns it: mmproj of its row; vision of the profile or [tune] switches it'
const MODEL_TEMPLATE = 'the model owns it: chat_template and jinja of its row'
const MODEL_DRAFTER = 'the model owns it: drafter of its row; speculation of the profile or [tune] switches it'
const FILES_GRAMMAR = `${INSTEAD.files}: --grammar takes the text itself`
const FILES_SCHEMA = `${INSTEAD.files}: --json-schema takes the text itself`

/** llama-server's flags that no profile may set. Source: SPEC 3; names: its own --help. */
export const LLAMA_SERVER_OWNED: readonly FlagFacts[] = [
  ...readFlagRows('slot', 'the slot owns it: n_gpu_layers of its file', '1 --n-gpu-layers --gpu-layers -ngl'),
  ...readFlagRows('slot', 'the slot owns it: threads of its file', '1 --threads -t'),
  ...readFlagRows('slot', INSTEAD.device, '1 --device -dev'),
  ...readFlagRows('hal0', INSTEAD.model, '1 --model -m'),
  ...readFlagRows(
    'hal0',
    HAL0_DOWNLOADS,
    `1 --model-url -mu
     1 --docker-repo -dr
     1 --hf-repo -hf -hfr
     1 --hf-file -hff
     1 --hf-token -hft
     1 --hf-repo-v -hfv -hfrv
     1 --hf-file-v -hffv
     1 --spec-draft-hf -hfd -hfrd --hf-repo-draft
     1 --mmproj-url -mmu`,
  ),
  ...readFlagRows('hal0', INSTEAD.address, '1 --host\n1 --port\n0 --reuse-port'),
  ...readFlagRows('hal0', 'hal0 sets it to the name of the slot', '1 --alias -a'),
  ...readFlagRows('hal0', 'hal0 sets it: ctx_size of the profile or [tune]', '1 --ctx-size -c'),
  ...readFlagRows('hal0', INSTEAD.key, '1 --api-key\n1 --api-key-file'),
  ...readFlagRows(
    'hal0',
    INSTEAD.gateway,
    `1 --ssl-key-file
     1 --ssl-cert-file
     1 --cors-origins
     1 --cors-methods
     1 --cors-headers
     0 --cors-credentials --no-cors-credentials
     1 --api-prefix
     0 --props`,
  ),
  ...readFlagRows('hal0', 'hal0 unloads idle slots: unload_after_s of the slot', '1 --sleep-idle-seconds'),
  ...readFlagRows(
    'hal0',
    HAL0_SERVES,
    `0 --help -h --usage
     0 --version
     0 --cache-list -cl
     0 --completion-bash
     0 --list-devices`,
  ),
  ...readFlagRows(
    'hal0',
    HAL0_ROUTER,
    `1 --models-dir
     1 --models-preset
     1 --models-max
     0 --models-autoload --no-models-autoload`,
  ),
  ...readFlagRows(
    'hal0',
    HAL0_TOOLS,
    `1 --tools
     1 --tools-runtime
     1 --mcp-servers-config
     1 --mcp-servers-json
     0 --agent -ag --no-agent -no-ag
     0 --ui-mcp-proxy --webui-mcp-proxy --no-ui-mcp-proxy --no-webui-mcp-proxy`,
  ),
  ...readFlagRows(
    'model',
    MODEL_PROJECTOR,
    `1 --mmproj -mm
     0 --mmproj-auto --no-mmproj --no-mmproj-auto
     0 --mmproj-offload --no-mmproj-offload
     1 --mmproj-device -mmdev`,
  ),
  ...readFlagRows('model', MODEL_TEMPLATE, '0 --jinja --no-jinja\n1 --chat-template\n1 --chat-template-file'),
  ...readFlagRows(
    'hal0',
    'hal0 sets it for each request: enable_thinking and reasoning_effort of the profile or [tune]',
    '1 --chat-template-kwargs',
  ),
  ...readFlagRows('model', MODEL_DRAFTER, '1 --spec-draft-model -md --model-draft'),
  ...readFlagRows(
    'files',
    INSTEAD.files,
    `1 --path
     1 --log-file
     1 --log-prompts-dir
     1 --slot-save-path
     1 --rpc
     1 --media-path
     1 --ui-config-file --webui-config-file
     1 --lookup-cache-static -lcs
     1 --lookup-cache-dynamic -lcd
     1 --video-ffmpeg-dir
     1 --system-prompt-file -spf
     1 --model-vocoder -mv
     1 --prompt-cache`,
  ),
  ...readFlagRows('files', FILES_GRAMMAR, '1 --grammar-file'),
  ...readFlagRows('files', FILES_SCHEMA, '1 --json-schema-file -jf'),
]

/** What newer builds may add to the families above, by the form of the name. Flags of the tables are looked up first. */
export const LLAMA_SERVER_DENIED: readonly DeniedPattern[] = [
  { pattern: /^--(embd|fim|vision|gpt-oss|tts)-.*-?(default|spec)$/, owner: 'hal0', instead: HAL0_DOWNLOADS },
  { pattern: /^(-hf|--hf-|--docker-)/, owner: 'hal0', instead: HAL0_DOWNLOADS },
  { pattern: /^--(no-)?(ssl|cors|api-prefix|api-key)(-|$)/, owner: 'hal0', instead: INSTEAD.gateway },
  { pattern: /^--(no-)?models-/, owner: 'hal0', instead: HAL0_ROUTER },
  { pattern: /^--(no-)?(tools|mcp|agent)(-|$)/, owner: 'hal0', instead: HAL0_TOOLS },
  { pattern: /^--(no-)?mmproj(-|$)/, owner: 'model', instead: MODEL_PROJECTOR },
  { pattern: /^--chat-template(-|$)/, owner: 'model', instead: MODEL_TEMPLATE },
  { pattern: /^--lookup-cache-|^--rpc-/, owner: 'files', instead: INSTEAD.files },
]
