import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../contract/runner.ts'
import { findFlagMistake, screenFlags } from './screen-flags.ts'

/** Owner, canonical name, all spellings: written by hand from SPEC 3 and llama-server's help. */
const LLAMA: readonly (readonly [owner: string, spellings: string])[] = [
  ['slot', '--n-gpu-layers --gpu-layers -ngl'],
  ['slot', '--device -dev'],
  ['slot', '--threads -t'],
  ['hal0', '--model -m'],
  ['hal0', '--model-url -mu'],
  ['hal0', '--hf-repo -hf -hfr'],
  ['hal0', '--hf-file -hff'],
  ['hal0', '--hf-token -hft'],
  ['hal0', '--docker-repo -dr'],
  ['hal0', '--spec-draft-hf -hfd -hfrd --hf-repo-draft'],
  ['hal0', '--host'],
  ['hal0', '--port'],
  ['hal0', '--reuse-port'],
  ['hal0', '--alias -a'],
  ['hal0', '--ctx-size -c'],
  ['hal0', '--api-key'],
  ['hal0', '--api-key-file'],
  ['hal0', '--api-prefix'],
  ['hal0', '--ssl-key-file'],
  ['hal0', '--ssl-cert-file'],
  ['hal0', '--cors-origins'],
  ['hal0', '--cors-methods'],
  ['hal0', '--cors-headers'],
  ['hal0', '--cors-credentials --no-cors-credentials'],
  ['hal0', '--props'],
  ['hal0', '--models-dir'],
  ['hal0', '--models-preset'],
  ['hal0', '--models-max'],
  ['hal0', '--models-autoload --no-models-autoload'],
  ['hal0', '--sleep-idle-seconds'],
  ['hal0', '--help -h --usage'],
  ['hal0', '--version'],
  ['hal0', '--cache-list -cl'],
  ['hal0', '--completion-bash'],
  ['hal0', '--list-devices'],
  ['hal0', '--tools'],
  ['hal0', '--tools-runtime'],
  ['hal0', '--mcp-servers-config'],
  ['hal0', '--mcp-servers-json'],
  ['hal0', '--agent -ag --no-agent -no-ag'],
  ['hal0', '--ui-mcp-proxy --webui-mcp-proxy --no-ui-mcp-proxy --no-webui-mcp-proxy'],
  ['hal0', '--mmproj-url -mmu'],
  ['hal0', '--chat-template-kwargs'],
  ['model', '--mmproj -mm'],
  ['model', '--mmproj-auto --no-mmproj --no-mmproj-auto'],
  ['model', '--mmproj-offload --no-mmproj-offload'],
  ['model', '--mmproj-device -mmdev'],
  ['model', '--jinja --no-jinja'],
  ['model', '--chat-template'],
  ['model', '--chat-template-file'],
  ['model', '--spec-draft-model -md --model-draft'],
  ['files', '--path'],
  ['files', '--log-file'],
  ['files', '--log-prompts-dir'],
  ['files', '--slot-save-path'],
  ['files', '--rpc'],
  ['files', '--media-path'],
  ['files', '--ui-config-file --webui-config-file'],
  ['files', '--lookup-cache-static -lcs'],
  ['files', '--lookup-cache-dynamic -lcd'],
  ['files', '--video-ffmpeg-dir'],
  ['files', '--grammar-file'],
  ['files', '--json-schema-file -jf'],
]
const PRESETS =
  `--embd-gemma-default --embd-bge-small-en-default --fim-qwen-1.5b-default --fim-qwen-7b-spec --gpt-oss-20b-default
  --vision-gemma-4b-default --tts-oute-default --fim-anything-new-default`.split(/\s+/)

const VLLM: readonly (readonly [string, string])[] = [
  ['hal0', '--model --mode --mod'],
  ['hal0', '--host --hos --ho'],
  ['hal0', '--port --por'],
  ['hal0', '--uds'],
  ['hal0', '--served-model-name --served --served-model'],
  ['hal0', '--max-model-len --max-model'],
  ['hal0', '--api-key --api-k'],
  ['hal0', '--ssl-keyfile --ssl-k'],
  ['hal0', '--root-path --root'],
  ['hal0', '--help -h -hx --help=all'],
  ['slot', '--device'],
  ['model', '--chat-template'],
  ['files', '--config --conf'],
  ['files', '--middleware'],
  ['files', '--tool-parser-plugin'],
]
const SGLANG: readonly (readonly [string, string])[] = [
  ['hal0', '--model-path --model --mod --model-pa'],
  ['hal0', '--host'],
  ['hal0', '--port'],
  ['hal0', '--served-model-name --served'],
  ['hal0', '--context-length --context'],
  ['hal0', '--api-key --admin-api-key'],
  ['model', '--chat-template'],
  ['model', '--speculative-draft-model-path --speculative-draft-model'],
  ['files', '--config'],
]

/** Each spelling alone, with a value, with an equals sign, with underscores, and twice. */
function spellingsOf(dialect: Dialect, rows: readonly (readonly [string, string])[]) {
  return rows.flatMap(([owner, text]) =>
    text.split(' ').flatMap((name) => {
      const flag = name.split('=', 1)[0] ?? name
      const under = flag.startsWith('--') ? [`--${flag.slice(2).replaceAll('-', '_')}`] : []
      return [
        { dialect, owner, words: [name], refused: [flag] },
        { dialect, owner, words: ['--seed', '1', flag, '9'], refused: [flag] },
        { dialect, owner, words: [`${flag}=9`], refused: [flag] },
        { dialect, owner, words: [flag, '9', flag], refused: [flag, flag] },
        ...under.map((other) => ({ dialect, owner, words: [other, '9'], refused: [other] })),
      ]
    }),
  )
}

describe('screenFlags', () => {
  it.each([
    ...spellingsOf('llama-server', LLAMA),
    ...spellingsOf(
      'llama-server',
      PRESETS.map((name) => ['hal0', name] as const),
    ),
    ...spellingsOf('vllm', VLLM),
    ...spellingsOf('sglang', SGLANG),
    ...spellingsOf('template', [
      ['hal0', '--port'],
      ['hal0', '--host'],
      ['hal0', '--model -m'],
      ['hal0', '--alias -a'],
    ]),
  ])('$dialect refuses $words ($owner)', ({ dialect, owner, words, refused }) => {
    const found = screenFlags(words, dialect)
    expect(found.map(({ flag }) => flag)).toEqual(refused)
    expect(found.every((refusal) => refusal.owner === owner && refusal.detail.length > 10)).toBe(true)
  })

  it('tells all spellings of one flag by one name, and where the setting lives', () => {
    expect(screenFlags(['-ngl', '3', '--gpu_layers=4'], 'llama-server')).toEqual([
      {
        flag: '-ngl',
        canonical: '--n-gpu-layers',
        owner: 'slot',
        detail: 'the slot owns it: n_gpu_layers of its file',
      },
      {
        flag: '--gpu_layers',
        canonical: '--n-gpu-layers',
        owner: 'slot',
        detail: 'the slot owns it: n_gpu_layers of its file',
      },
    ])
  })

  it('says which flag takes the text of a file that may not be opened', () => {
    const details = screenFlags(['--grammar-file', 'a', '-jf', 'b'], 'llama-server').map(({ detail }) => detail)
    expect(details).toEqual([
      expect.stringContaining('--grammar takes the text itself'),
      expect.stringContaining('--json-schema takes the text itself'),
    ])
    expect(screenFlags(['--grammar', 'root ::= "a"', '-j', '{}'], 'llama-server')).toEqual([])
  })

  it.each<[Dialect, readonly string[]]>([
    [
      'llama-server',
      ['--metrics', '--temp', '0.5', '--embd-normalize', '2', '--spec-default', '--spec-draft-n-max', '4', '-td', '3'],
    ],
    [
      'llama-server',
      ['-tb', '4', '--threads-http', '2', '--tags', 'a', '--ui-config', '{}', '--rope-scale', '2', '--draft-max', '3'],
    ],
    ['llama-server', ['--embedding', '--embeddings', '-b', '8192', '-ub', '8192']],
    ['llama-server', ['-c4096', '-p', '-ngl3']],
    [
      'vllm',
      [
        '--model-impl',
        'auto',
        '--gpu-memory-utilization',
        '0.9',
        '--tensor-parallel-size=2',
        '-O3',
        '--max-num-seqs',
        '2',
      ],
    ],
    ['sglang', ['--tp', '2', '--mem-fraction-static', '0.8', '--max-running-requests', '4', '--host-name-x', '1']],
    ['template', ['--anything', 'goes', '-c', '3', '--threads=2']],
  ])('%s lets pass %j', (dialect, words) => {
    expect(screenFlags(words, dialect)).toEqual([])
  })

  it('never has both modes', () => {
    expect(screenFlags(['--rerank', '--metrics', '--embeddings'], 'llama-server')).toMatchObject([
      { flag: '--embeddings', canonical: '--embedding', owner: 'hal0' },
    ])
  })

  it('finds a flag that stands where a value should, and one behind an equals sign', () => {
    expect(screenFlags(['--grammar', '--port', '1'], 'llama-server')).toMatchObject([{ flag: '--port' }])
    expect(screenFlags(['--metrics=--port', '1'], 'llama-server')).toMatchObject([{ flag: '--port' }])
  })
})

describe('findFlagMistake', () => {
  it.each<[readonly string[], string | undefined]>([
    [['--temp', '1'], undefined],
    [['--temp'], '--temp needs a value'],
    [['7'], '"7" (word 1) is a value without a flag'],
    [['--port'], undefined],
    [['-r', '\0'], 'word 2 contains a NUL character, which no command line can hold'],
    [['-r', '\ude00'], 'word 2 contains half of a character (a lone surrogate)'],
    [['-r', '\ud83d\ude00'], undefined],
  ])('%j', (words, expected) => {
    expect(findFlagMistake(words, 'llama-server')).toBe(expected)
  })
})
