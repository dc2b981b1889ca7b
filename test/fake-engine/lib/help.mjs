// What `--help` and `--version` say: llama-server's layout, and of its flags those that a launch may hold.

/** Spellings end here, or the description begins on a line of its own. */
const ABOUT_COLUMN = 40

/** @type {readonly (readonly [spellings: string, about: string])[]} */
const OPTIONS = [
  ['-h,    --help, --usage', 'print usage and exit'],
  ['--version', 'show version and build info'],
  ['-t,    --threads N', 'number of threads (default: all of them)'],
  ['-tb,   --threads-batch N', 'number of threads for batches (default: same as --threads)'],
  ['-c,    --ctx-size N', 'size of the context (default: 4096)'],
  ['-n,    --predict, --n-predict N', 'number of tokens to predict (default: -1 = infinity)'],
  ['-b,    --batch-size N', 'logical batch size (default: 2048)'],
  ['-ub,   --ubatch-size N', 'physical batch size (default: 512)'],
  ['-fa,   --flash-attn [on|off|auto]', "set Flash Attention use (default: 'auto')"],
  ['-kvo,  --kv-offload, -nkvo, --no-kv-offload', 'whether the cache is offloaded (default: enabled)'],
  ['-ctk,  --cache-type-k TYPE', 'data type of the cache for K (default: f16)'],
  ['-ctv,  --cache-type-v TYPE', 'data type of the cache for V (default: f16)'],
  ['--mmap, --no-mmap', 'whether to map the model into memory (default: enabled)'],
  ['--mlock', 'keep the model in memory'],
  ['--numa TYPE', 'help on some systems with several memories'],
  ['-dev,  --device <dev1,dev2,..>', 'devices to offload to (none = none)'],
  ['-ot,   --override-tensor <tensor name pattern>=<buffer type>,...', 'override the buffer type of tensors'],
  ['-ngl,  --gpu-layers, --n-gpu-layers N', 'layers to keep in the memory of the GPU (default: auto)'],
  ['-sm,   --split-mode {none,layer,row}', 'how to split the model over GPUs'],
  ['-ts,   --tensor-split N0,N1,N2,...', 'shares of the GPUs, for example 3,1'],
  ['-mg,   --main-gpu INDEX', 'the GPU to use'],
  ['-fit,  --fit [on|off]', 'whether to adjust what is not set to the memory'],
  ['--override-kv KEY=TYPE:VALUE,...', 'override metadata of the model'],
  ['--lora FNAME', 'path to an adapter'],
  ['--control-vector-layer-range START END', 'layers of the control vectors, both included'],
  ['-m,    --model FNAME', 'path of the model'],
  ['--samplers SAMPLERS', "samplers in their order, separated by ';'"],
  ['-s,    --seed SEED', 'seed (default: -1 = random)'],
  ['--temp, --temperature N', 'temperature (default: 0.80)'],
  ['--top-k N', 'top-k (default: 40)'],
  ['--top-p N', 'top-p (default: 0.95)'],
  ['--min-p N', 'min-p (default: 0.05)'],
  ['--repeat-penalty N', 'repeat penalty (default: 1.00)'],
  ['--presence-penalty N', 'presence penalty (default: 0.00)'],
  ['--frequency-penalty N', 'frequency penalty (default: 0.00)'],
  ['--dry-multiplier N', 'DRY multiplier (default: 0.00)'],
  ['-l,    --logit-bias TOKEN_ID(+/-)BIAS', 'changes the likelihood of a token'],
  ['-j,    --json-schema SCHEMA', 'JSON schema of answers'],
  ['--spec-draft-n-max N', 'tokens to draft (default: 3)'],
  ['--spec-draft-n-min N', 'least tokens to draft (default: 0)'],
  ['--spec-draft-p-min, --draft-p-min P', 'least probability of a draft (default: 0.00)'],
  ['--spec-draft-device, -devd, --device-draft <dev1,dev2,..>', 'devices of the draft model'],
  ['--spec-draft-ngl, -ngld, --gpu-layers-draft, --n-gpu-layers-draft N', 'layers of the draft model on the GPU'],
  ['--spec-draft-model, -md, --model-draft FNAME', 'draft model'],
  ['--spec-type none,draft-simple,draft-mtp,ngram-simple,ngram-mod', 'types of speculation (default: none)'],
  ['--spec-ngram-mod-n-match N', 'length of the lookup (default: 24)'],
  ['--draft, --draft-n, --draft-max N', 'the argument has been removed. use --spec-draft-n-max'],
  ['-kvu,  --kv-unified, -no-kvu, --no-kv-unified', 'one cache for all sequences'],
  ['-cram, --cache-ram N', 'size of the prompt cache in MiB'],
  ['--pooling {none,mean,cls,last,rank}', 'pooling of embeddings'],
  ['-np,   --parallel N', 'sequences decoded at once (default: 4)'],
  ['-cb,   --cont-batching, -nocb, --no-cont-batching', 'whether batches are continuous'],
  ['-mm,   --mmproj FILE', 'path of a projector for images'],
  ['--mmproj-auto, --no-mmproj, --no-mmproj-auto', 'whether to look for a projector'],
  ['-a,    --alias STRING', 'name of the model in answers'],
  ['--host HOST', 'address to listen on (default: 127.0.0.1)'],
  ['--port PORT', 'port to listen on (default: 8080)'],
  ['--embedding, --embeddings', 'for embedding models'],
  ['--rerank, --reranking', 'enable reranking'],
  ['--api-key KEY', 'key that requests need\n(env: LLAMA_API_KEY)'],
  ['--chat-template-kwargs STRING', 'variables of the template, a JSON object'],
  ['--threads-http N', 'threads that answer requests'],
  ['--cache-prompt, --no-cache-prompt', 'whether prompts are cached'],
  ['--cache-reuse N', 'least piece of the cache that is used again after a gap'],
  ['--metrics', 'enable /metrics'],
  ['--props', 'enable POST /props'],
  ['--slots, --no-slots', 'expose /slots (default: enabled)'],
  ['--jinja, --no-jinja', 'whether to use Jinja templates (default: enabled)'],
  ['--reasoning-format FORMAT', 'what happens to thoughts'],
  ['-rea,  --reasoning [on|off|auto]', "whether to think (default: 'auto')"],
  ['--reasoning-effort LEVEL', 'level given to the template'],
  ['--reasoning-budget N', 'tokens of thinking (default: -1 = no limit)'],
  ['--chat-template JINJA_TEMPLATE', 'template'],
  ['--chat-template-file JINJA_TEMPLATE_FILE', 'file of a template'],
]

/** The text of `--help`. */
export function helpText() {
  const margin = ' '.repeat(ABOUT_COLUMN)
  const lines = OPTIONS.flatMap(([spellings, about]) => {
    const [first = '', ...more] = about.split('\n')
    const fits = spellings.length + 2 <= ABOUT_COLUMN
    const head = fits ? [spellings.padEnd(ABOUT_COLUMN) + first] : [spellings, margin + first]
    return [...head, ...more.map((line) => margin + line)]
  })
  return `----- common params -----\n\n${lines.join('\n')}\n`
}

/** What `--version` prints. */
export const VERSION_TEXT = 'version: 0.0.0 (fake engine)\nbuilt with Node\n'
