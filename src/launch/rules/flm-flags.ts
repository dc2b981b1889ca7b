import { buildFlagTable, readFlagRows } from './flag-facts.ts'
import { INSTEAD } from './flag-owners.ts'

/**
 * FastFlowLM's `flm serve`. The tag is its positional argument; long names may be shortened, and a short one may have its value glued to
 * it (`-p8000`), so that whatever is more than one letter after a single dash is refused. Names: its documentation, "System Command and CLI Mode".
 */
export const FLM_FLAGS = buildFlagTable(
  [
    ...readFlagRows('hal0', INSTEAD.model, '1 --model-tag'),
    ...readFlagRows('hal0', INSTEAD.address, '1 --host\n1 --port -p'),
    ...readFlagRows('hal0', 'hal0 sets it: ctx_size of the profile', '1 --ctx-len -c'),
    ...readFlagRows(
      'hal0',
      INSTEAD.serves,
      `1 --command
       0 --help -h
       0 --version -v
       0 --force
       1 --filter
       0 --json -j
       1 --prompt -i`,
    ),
    ...readFlagRows('slot', 'the slot owns it: asr and embed in [npu] of its file', '1 --asr -a\n1 --embed -e'),
    ...readFlagRows(
      'profile',
      '',
      `1 --pmode
       1 --prefill-chunk-len
       1 --img-pre-resize --resize -r
       1 --socket -s
       1 --q-len -q
       1 --cors
       1 --preemption
       0 --quiet
       0 --hf
       1 --hf-branch`,
    ),
  ],
  {
    denied: [
      { pattern: /^-[A-Za-z]./, owner: 'hal0', instead: 'write a short flag and its value as words of their own' },
    ],
    isArgparse: true,
  },
)
