import { buildFlagTable, type DeniedPattern, readFlagRows } from './flag-facts.ts'
import { INSTEAD } from './flag-owners.ts'

const NAME = 'hal0 sets it to the name of the slot'
const WINDOW = 'hal0 sets it: ctx_size of the profile or [tune]'
const TEMPLATE = 'the model owns it: chat_template of its row'

/** What newer versions may add to what hal0 manages, by the form of the name. */
const DENIED: readonly DeniedPattern[] = [
  { pattern: /^--(no-)?(enable-)?ssl(-|$)/, owner: 'hal0', instead: INSTEAD.gateway },
  { pattern: /^--(no-)?(admin-)?api-key/, owner: 'hal0', instead: INSTEAD.key },
  { pattern: /^-h/, owner: 'hal0', instead: INSTEAD.serves },
  {
    pattern: /^--(config|api-key|served-model-name|model|model-path|host|port)\./,
    owner: 'hal0',
    instead: INSTEAD.serves,
  },
]

/**
 * vLLM's `vllm serve`. The model is its positional argument; what is not in the table takes one value at most, unless the help says
 * none. Names: docs.vllm.ai, "vllm serve".
 */
export const VLLM_FLAGS = buildFlagTable(
  [
    ...readFlagRows('hal0', INSTEAD.model, '1 --model'),
    ...readFlagRows('hal0', INSTEAD.address, '1 --host\n1 --port\n1 --uds'),
    ...readFlagRows('hal0', NAME, '* --served-model-name'),
    ...readFlagRows('hal0', WINDOW, '1 --max-model-len'),
    ...readFlagRows('hal0', INSTEAD.key, '* --api-key'),
    ...readFlagRows(
      'hal0',
      INSTEAD.gateway,
      `1 --ssl-keyfile
       1 --ssl-certfile
       1 --ssl-ca-certs
       1 --ssl-cert-reqs
       1 --ssl-ciphers
       0 --enable-ssl-refresh --no-enable-ssl-refresh
       1 --root-path
       1 --allowed-origins
       1 --allowed-methods
       1 --allowed-headers
       0 --allow-credentials --no-allow-credentials`,
    ),
    ...readFlagRows(
      'hal0',
      INSTEAD.serves,
      '? --help -h\n0 --version -v\n0 --headless --no-headless\n0 --grpc --no-grpc',
    ),
    ...readFlagRows('slot', INSTEAD.device, '1 --device'),
    ...readFlagRows('model', TEMPLATE, '1 --chat-template'),
    ...readFlagRows(
      'files',
      INSTEAD.files,
      `1 --config
       1 --middleware
       1 --tool-parser-plugin
       1 --reasoning-parser-plugin
       1 --tool-server
       1 --allowed-local-media-path
       1 --log-config-file
       * --logits-processors
       1 --worker-cls
       1 --worker-extension-cls`,
    ),
    ...readFlagRows(
      'profile',
      '',
      `1 --speculative-config -sc
       1 --gpu-memory-utilization
       1 --tensor-parallel-size -tp
       1 --pipeline-parallel-size -pp
       1 --data-parallel-size -dp
       1 --api-server-count -asc
       1 --dtype
       1 --max-num-seqs
       1 --max-num-batched-tokens
       1 --quantization -q
       1 --kv-cache-dtype
       1 --reasoning-parser
       1 --tool-call-parser
       1 --tokenizer
       1 --revision
       1 --hf-overrides
       1 --rope-scaling
       1 --seed
       1 --runner
       1 --convert
       1 --limit-mm-per-prompt
       1 --compilation-config -cc -O
       0 --enable-prefix-caching --no-enable-prefix-caching
       0 --enable-chunked-prefill --no-enable-chunked-prefill
       0 --enable-auto-tool-choice --no-enable-auto-tool-choice
       0 --trust-remote-code --no-trust-remote-code
       0 --enforce-eager --no-enforce-eager
       0 --enable-lora --no-enable-lora
       * --lora-modules
       * --cuda-graph-sizes
       * --cudagraph-capture-sizes`,
    ),
  ],
  { denied: DENIED, isArgparse: true },
)

/** SGLang's server. Names: its documentation, "Server Arguments". */
export const SGLANG_FLAGS = buildFlagTable(
  [
    ...readFlagRows('hal0', INSTEAD.model, '1 --model-path --model'),
    ...readFlagRows('hal0', INSTEAD.address, '1 --host\n1 --port'),
    ...readFlagRows('hal0', NAME, '1 --served-model-name'),
    ...readFlagRows('hal0', WINDOW, '1 --context-length'),
    ...readFlagRows('hal0', INSTEAD.key, '1 --api-key\n1 --admin-api-key'),
    ...readFlagRows(
      'hal0',
      INSTEAD.gateway,
      '1 --fastapi-root-path\n1 --ssl-keyfile\n1 --ssl-certfile\n1 --ssl-ca-certs',
    ),
    ...readFlagRows('hal0', INSTEAD.serves, '0 --help -h\n0 --version\n0 --grpc-mode\n1 --model-type'),
    ...readFlagRows('slot', INSTEAD.device, '1 --device\n1 --base-gpu-id\n1 --gpu-id-step'),
    ...readFlagRows('model', TEMPLATE, '1 --chat-template\n1 --hf-chat-template-name\n1 --completion-template'),
    ...readFlagRows(
      'model',
      'the model owns it: drafter of its row',
      '1 --speculative-draft-model-path --speculative-draft-model',
    ),
    ...readFlagRows(
      'files',
      INSTEAD.files,
      `1 --config
       1 --tool-server
       1 --custom-weight-loader
       1 --file-storage-path
       1 --export-metrics-to-file-dir
       1 --crash-dump-folder
       1 --modelopt-export-path
       1 --modelopt-checkpoint-save-path`,
    ),
    ...readFlagRows(
      'profile',
      '',
      `1 --speculative-algorithm --speculative-algo
       1 --speculative-num-steps
       1 --speculative-eagle-topk
       1 --speculative-num-draft-tokens
       1 --mem-fraction-static
       1 --tensor-parallel-size --tp-size --tp
       1 --data-parallel-size --dp-size --dp
       1 --dtype
       1 --quantization
       1 --kv-cache-dtype
       1 --reasoning-parser
       1 --tool-call-parser
       1 --tokenizer-path
       1 --revision
       1 --max-running-requests
       1 --chunked-prefill-size
       1 --json-model-override-args
       0 --is-embedding
       0 --trust-remote-code
       0 --enable-metrics
       * --lora-paths
       * --lora-target-modules
       * --cuda-graph-bs`,
    ),
  ],
  { denied: DENIED, isArgparse: true },
)

/** What no engine of a template may be told by a profile, whatever else its template sets. */
export const TEMPLATE_FLAGS = buildFlagTable(
  [
    ...readFlagRows('hal0', INSTEAD.model, '1 --model -m\n1 --model-path'),
    ...readFlagRows('hal0', INSTEAD.address, '1 --host\n1 --port\n1 --listen\n1 --uds'),
    ...readFlagRows('hal0', NAME, '1 --alias -a\n1 --served-model-name'),
    ...readFlagRows('hal0', INSTEAD.key, '1 --api-key\n1 --api-key-file'),
  ],
  { denied: [], isArgparse: false },
)
