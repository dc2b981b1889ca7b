import { buildFlagTable, readFlagRows } from './flag-facts.ts'
import { LLAMA_SERVER_DENIED, LLAMA_SERVER_OWNED } from './llama-server-owned.ts'

/** What profiles may set. Names: llama-server's --help, and those it had in the two years before. */
const FREE = readFlagRows(
  'profile',
  '',
  `1 --threads-batch -tb
   1 --cpu-mask -C
   1 --cpu-range -Cr
   1 --cpu-strict
   1 --prio
   1 --poll
   1 --cpu-mask-batch -Cb
   1 --cpu-range-batch -Crb
   1 --cpu-strict-batch
   1 --prio-batch
   1 --poll-batch
   1 --n-predict --predict -n
   1 --batch-size -b
   1 --ubatch-size -ub
   1 --keep
   0 --swa-full
   ? --flash-attn -fa
   0 --perf --no-perf
   0 --escape -e --no-escape
   1 --rope-scaling
   1 --rope-scale
   1 --rope-freq-base
   1 --rope-freq-scale
   1 --yarn-orig-ctx
   1 --yarn-ext-factor
   1 --yarn-attn-factor
   1 --yarn-beta-slow
   1 --yarn-beta-fast
   1 --grp-attn-n -gan
   1 --grp-attn-w -gaw
   0 --kv-offload -kvo --no-kv-offload -nkvo
   0 --repack --no-repack -nr
   0 --no-host
   1 --cache-type-k -ctk
   1 --cache-type-v -ctv
   1 --defrag-thold -dt
   1 --load-mode -lm
   1 --lazy-mode -lzm
   0 --mlock
   0 --mmap --no-mmap
   0 --direct-io -dio --no-direct-io -ndio
   1 --numa
   1+ --override-tensor -ot
   0 --cpu-moe -cmoe
   1 --n-cpu-moe -ncmoe
   1 --moe-cache-mib
   1 --n-cpu-ffn -ncffn
   1 --split-mode -sm
   1 --tensor-split -ts
   1 --main-gpu -mg
   1 --fit -fit
   1 --fit-target -fitt
   1 --fit-ctx -fitc
   0 --check-tensors
   1+ --override-kv
   0 --op-offload --no-op-offload
   1+ --lora
   1+ --lora-scaled
   0 --lora-init-without-apply
   1+ --control-vector
   1+ --control-vector-scaled
   2 --control-vector-layer-range
   0 --log-disable
   0 --log-jsonl --no-log-jsonl
   1 --log-colors
   0 --verbose -v --log-verbose
   1 --verbosity -lv --log-verbosity
   0 --log-prefix --no-log-prefix
   0 --log-timestamps --no-log-timestamps
   0 --offline
   1 --samplers
   1 --seed -s
   1 --sampler-seq --sampling-seq
   0 --ignore-eos
   1 --temp --temperature
   1 --top-k
   1 --top-p
   1 --min-p
   1 --top-nsigma --top-n-sigma
   1 --xtc-probability
   1 --xtc-threshold
   1 --typical --typical-p
   1 --repeat-last-n
   1 --repeat-penalty
   1 --presence-penalty
   1 --frequency-penalty
   1 --dry-multiplier
   1 --dry-base
   1 --dry-allowed-length
   1 --dry-penalty-last-n
   1+ --dry-sequence-breaker
   1 --adaptive-target
   1 --adaptive-decay
   1 --dynatemp-range
   1 --dynatemp-exp
   1 --mirostat
   1 --mirostat-lr
   1 --mirostat-ent
   1+ --logit-bias -l
   1 --grammar
   1 --json-schema -j
   0 --backend-sampling -bs
   1 --kv-unified-per-slot
   1 --ctx-checkpoints -ctxcp --swa-checkpoints
   1 --checkpoint-min-step -cms
   1 --cache-ram -cram
   0 --kv-unified -kvu --no-kv-unified -no-kvu
   0 --cache-idle-slots --no-cache-idle-slots
   0 --context-shift --no-context-shift
   1+ --reverse-prompt -r
   0 --special -sp
   0 --warmup --no-warmup
   0 --spm-infill
   1 --pooling
   1 --attention
   1 --parallel -np
   0 --cont-batching -cb --no-cont-batching -nocb
   1 --image-min-tokens
   1 --image-max-tokens
   1 --mtmd-batch-max-tokens
   1 --video-fps
   1 --video-timestamp-interval
   1 --tags
   1 --embd-normalize
   1 --ui-config --webui-config
   0 --ui --webui --no-ui --no-webui
   0 --embedding --embeddings
   0 --rerank --reranking
   1 --timeout -to
   1 --sse-ping-interval
   1 --threads-http
   0 --cache-prompt --no-cache-prompt
   1 --cache-reuse
   0 --metrics
   0 --slots --no-slots
   1 --reasoning-format
   1 --reasoning -rea
   1 --reasoning-effort
   1 --reasoning-budget
   1 --reasoning-budget-message
   0 --reasoning-preserve --no-reasoning-preserve
   0 --skip-chat-parsing --no-skip-chat-parsing
   0 --prefill-assistant --no-prefill-assistant
   1 --slot-prompt-similarity -sps`,
)

/** Speculation. A profile's own `--spec-draft-*` win over what hal0 derives; the draft model itself is the model's. */
const SPECULATION = readFlagRows(
  'profile',
  '',
  `1 --spec-type
   0 --spec-default
   1 --spec-draft-type-k -ctkd --cache-type-k-draft
   1 --spec-draft-type-v -ctvd --cache-type-v-draft
   1 --spec-draft-threads -td --threads-draft
   1 --spec-draft-threads-batch -tbd --threads-batch-draft
   1 --spec-draft-cpu-mask -Cd --cpu-mask-draft
   1 --spec-draft-cpu-range -Crd --cpu-range-draft
   1 --spec-draft-cpu-strict --cpu-strict-draft
   1 --spec-draft-prio --prio-draft
   1 --spec-draft-poll --poll-draft
   1 --spec-draft-cpu-mask-batch -Cbd --cpu-mask-batch-draft
   1 --spec-draft-cpu-strict-batch --cpu-strict-batch-draft
   1 --spec-draft-prio-batch --prio-batch-draft
   1 --spec-draft-poll-batch --poll-batch-draft
   1+ --spec-draft-override-tensor -otd --override-tensor-draft
   0 --spec-draft-cpu-moe -cmoed --cpu-moe-draft
   1 --spec-draft-n-cpu-moe --spec-draft-ncmoe -ncmoed --n-cpu-moe-draft
   1 --spec-draft-n-max --draft-max --draft-n --draft
   1 --spec-draft-n-min --draft-min --draft-n-min
   1 --spec-draft-n-ubatch
   1 --spec-draft-p-split --draft-p-split
   1 --spec-draft-p-min --draft-p-min
   1 --spec-draft-ctx-size --ctx-size-draft -cd
   0 --spec-draft-backend-sampling --no-spec-draft-backend-sampling
   1 --spec-draft-sampling
   1 --spec-draft-device -devd --device-draft
   1 --spec-draft-ngl -ngld --gpu-layers-draft --n-gpu-layers-draft
   2 --spec-replace
   1 --spec-synth-len
   1 --spec-synth-rates
   1 --spec-ngram-mod-n-min
   1 --spec-ngram-mod-n-max
   1 --spec-ngram-mod-n-match
   1 --spec-ngram-simple-size-n
   1 --spec-ngram-simple-size-m
   1 --spec-ngram-simple-min-hits
   1 --spec-ngram-map-k-size-n
   1 --spec-ngram-map-k-size-m
   1 --spec-ngram-map-k-min-hits
   1 --spec-ngram-map-k4v-size-n
   1 --spec-ngram-map-k4v-size-m
   1 --spec-ngram-map-k4v-min-hits
   1 --spec-ngram-size-n
   1 --spec-ngram-size-m
   1 --spec-ngram-min-hits`,
)

/** Every flag of llama-server. It takes no `--flag=value`, no glued values and no beginnings of names; `_` counts as `-`. */
export const LLAMA_SERVER_FLAGS = buildFlagTable([...FREE, ...SPECULATION, ...LLAMA_SERVER_OWNED], {
  denied: LLAMA_SERVER_DENIED,
  isArgparse: false,
})
