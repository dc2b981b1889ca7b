import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { abilitiesOf, pickVersion } from './engine-facts.ts'
import { parseHelp } from './parse-help.ts'

/** In the layout of llama-server b11669, shortened. */
const LLAMA_SERVER = `
----- common params -----

-h,    --help, --usage                  print usage and exit
--version                               show version and build info
-t,    --threads N                      number of CPU threads to use during generation
                                        (env: LLAMA_ARG_THREADS)
-fa,   --flash-attn [on|off|auto]       set Flash Attention use ('on', 'off', or 'auto', default: 'auto')
--poll <0...100>                        use polling level to wait for work
--cpu-strict <0|1>                      use strict CPU placement (default: 0)
--rope-scaling {none,linear,yarn}       RoPE frequency scaling method
-kvo,  --kv-offload, -nkvo, --no-kv-offload
                                        whether to enable KV cache offloading (default: enabled)
                                        (env: LLAMA_ARG_KV_OFFLOAD)
-ctk,  --cache-type-k TYPE              KV cache data type for K
                                        allowed values: f32, f16, q8_0
-lv,   --verbosity, --log-verbosity N   Set the verbosity threshold. Values:
                                         - 0: generic output
                                         - 1: error
                                        (default: 3)
-dev,  --device <dev1,dev2,..>          comma-separated list of devices
-ot,   --override-tensor <tensor name pattern>=<buffer type>,...
                                        override tensor buffer type
--control-vector-layer-range START END
                                        layer range to apply the control vector(s) to
-hf,   -hfr, --hf-repo <user>/<model>[:quant]
                                        mmproj is also downloaded automatically. to disable, add
                                        --no-mmproj-in-a-description
-l,    --logit-bias TOKEN_ID(+/-)BIAS   modifies the likelihood of token appearing in the completion,
                                        i.e. \`--logit-bias 15043+1\` to increase it

----- speculative params -----

--spec-draft-model, -md, --model-draft FNAME
                                        draft model for speculative decoding
--spec-type none,draft-simple,draft-mtp,ngram-mod
                                        comma-separated list of types of speculative decoding to use (default:
                                        none)
--draft, --draft-n, --draft-max N       the argument has been removed. use --spec-draft-n-max or
                                        --spec-ngram-mod-n-max

----- example-specific params -----

-mm,   --mmproj FILE                    path to a multimodal projector file
--port PORT                             port to listen (default: 9931)
--jinja, --no-jinja                     whether to use jinja template engine for chat (default: enabled)
--fim-qwen-1.5b-default                 use default Qwen 2.5 Coder 1.5B
`

/** In argparse's layout, as vLLM and SGLang print it, shortened. */
const ARGPARSE = `usage: vllm serve [-h] [--host HOST] [--port PORT]
                  [--trust-remote-code | --no-trust-remote-code]
                  [--dtype {auto,half,float16}]
                  [model_tag]

positional arguments:
  model_tag             The model tag to serve
                        (optional if specified in config)

options:
  -h, --help            show this help message and exit
  --host HOST           Host name. (default: None)
  --port PORT           Port number. (default: 8000)
  --api-server-count API_SERVER_COUNT, -asc API_SERVER_COUNT
                        How many API server processes to run.
  --revision, -r REVISION
                        The version to use.
  --lora-modules LORA_MODULES [LORA_MODULES ...]
                        LoRA modules.
  --trust-remote-code, --no-trust-remote-code
                        Trust remote code. See --not-an-option for
                        more.
  --dtype {auto,half,float16}
                        Data type. (default: auto)
  --tool-call-parser {hermes,jamba} or name registered in --tool-parser-plugin
                        Select the parser.
  --size WIDTH HEIGHT   Two of them.
  --quantization {awq,gptq}, -q {awq,gptq}
                        Method.
`

/** In the embedded engine's layout. */
const EMBEDDED = `hal0 embedded engine: llama.cpp in a process of its own.

  --model, -m TEXT                              path of the GGUF file (required)
  --jinja                                       accepted; a Jinja template is always used
  --reasoning, -rea {on,off,auto}               sets enable_thinking
`

function option(text: string, name: string): unknown {
  return parseHelp(text)?.flags.get(name)
}

describe('parseHelp', () => {
  it.each([
    ['a short and a long spelling', '-t', ['-t', '--threads'], 1, []],
    ['a switch in three spellings', '--usage', ['-h', '--help', '--usage'], 0, []],
    ['a switch without a short form', '--version', ['--version'], 0, []],
    ['choices in square brackets', '--flash-attn', ['-fa', '--flash-attn'], 1, ['on', 'off', 'auto']],
    ['a range, which lists no choices', '--poll', ['--poll'], 1, []],
    ['choices in angle brackets', '--cpu-strict', ['--cpu-strict'], 1, ['0', '1']],
    ['choices in braces', '--rope-scaling', ['--rope-scaling'], 1, ['none', 'linear', 'yarn']],
    ['four spellings of a switch', '-nkvo', ['-kvo', '--kv-offload', '-nkvo', '--no-kv-offload'], 0, []],
    ['choices in the description only', '-ctk', ['-ctk', '--cache-type-k'], 1, []],
    ['a list in the description', '-lv', ['-lv', '--verbosity', '--log-verbosity'], 1, []],
    ['an open list', '--device', ['-dev', '--device'], 1, []],
    ['a placeholder with spaces', '-ot', ['-ot', '--override-tensor'], 1, []],
    ['two values', '--control-vector-layer-range', ['--control-vector-layer-range'], 2, []],
    ['two short forms', '-hfr', ['-hf', '-hfr', '--hf-repo'], 1, []],
    ['a placeholder with brackets of all kinds', '-l', ['-l', '--logit-bias'], 1, []],
    ['choices without brackets', '--spec-type', ['--spec-type'], 1, ['none', 'draft-simple', 'draft-mtp', 'ngram-mod']],
    ['a dot in a name', '--fim-qwen-1.5b-default', ['--fim-qwen-1.5b-default'], 0, []],
  ])("reads llama-server's help: %s", (_what, name, names, values, choices) => {
    expect(option(LLAMA_SERVER, name)).toEqual({ names, values, choices })
  })

  it.each(['--draft', '--draft-max', '--no-mmproj-in-a-description', '--spec-draft-n-max', '-1', '-', '-----'])(
    "does not take %s for a flag of llama-server's",
    (name) => {
      expect(option(LLAMA_SERVER, name)).toBeUndefined()
    },
  )

  it.each([
    ['a value', '--port', ['--port'], 1, []],
    ['the placeholder at each spelling', '-asc', ['--api-server-count', '-asc'], 1, []],
    ['the placeholder at the last spelling', '--revision', ['--revision', '-r'], 1, []],
    ['one or more values', '--lora-modules', ['--lora-modules'], 1, []],
    ['a switch and its opposite', '--no-trust-remote-code', ['--trust-remote-code', '--no-trust-remote-code'], 0, []],
    ['choices', '--dtype', ['--dtype'], 1, ['auto', 'half', 'float16']],
    ['choices that are not all', '--tool-call-parser', ['--tool-call-parser'], 1, []],
    ['two values', '--size', ['--size'], 2, []],
    ['choices at each spelling', '-q', ['--quantization', '-q'], 1, ['awq', 'gptq']],
  ])("reads argparse's help: %s", (_what, name, names, values, choices) => {
    expect(option(ARGPARSE, name)).toEqual({ names, values, choices })
  })

  it.each(['--not-an-option', '--tool-parser-plugin', 'model_tag'])('does not take %s for an option', (name) => {
    expect(option(ARGPARSE, name)).toBeUndefined()
  })

  it("reads the embedded engine's help", () => {
    expect([...(parseHelp(EMBEDDED)?.flags.keys() ?? [])]).toEqual(['--model', '-m', '--jinja', '--reasoning', '-rea'])
    expect(option(EMBEDDED, '-rea')).toMatchObject({ values: 1, choices: ['on', 'off', 'auto'] })
  })

  it('reads through colours and the line ends of another system', () => {
    const text = '\u001b[1;34m  --port\u001b[0m \u001b[33mPORT\u001b[0m   where to listen\r\n  --x   a switch\r\n'
    expect([...(parseHelp(text)?.flags.keys() ?? [])]).toEqual(['--port', '--x'])
  })

  it.each(['', 'error: cannot open display\n', 'Usage: engine [options]\n'])(
    'concludes nothing from a text that names no flag: %j',
    (text) => {
      expect(parseHelp(text)).toBeUndefined()
    },
  )
})

describe('parseHelp on any text', () => {
  const piece = fc.constantFrom(
    '-',
    '--',
    'a',
    'FOO',
    ',',
    ' ',
    '  ',
    '|',
    '[',
    ']',
    '{',
    '}',
    '<',
    '=',
    '.',
    '\n',
    '\t',
    '1',
  )

  it('never throws, and invents no flag', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join('')
        for (const [name, found] of parseHelp(text)?.flags ?? []) {
          expect(text).toContain(name)
          expect(name).toMatch(/^--?[A-Za-z]/)
          expect(found.names).toContain(name)
          expect(found.values).toBeGreaterThanOrEqual(0)
        }
      }),
    )
  })

  it('reads a megabyte of blanks at once', () => {
    const blanks = ' '.repeat(500_000)
    expect(parseHelp(`--a,${blanks}x${blanks}`)?.flags.size).toBeLessThanOrEqual(1)
    expect(parseHelp(`  --b${blanks}`)?.flags.has('--b')).toBe(true)
  }, 5_000)
})

describe('abilitiesOf', () => {
  it.each([
    ['llama-server', LLAMA_SERVER, { jinja: true, mmproj: true, drafter: true, mtp: true, ngram: true }],
    ['vLLM', ARGPARSE, { jinja: false, mmproj: false, drafter: false, mtp: false, ngram: false }],
    ['the embedded engine', EMBEDDED, { jinja: true, mmproj: false, drafter: false, mtp: false, ngram: false }],
    [
      'a llama-server of an older kind',
      '-md, --model-draft FNAME   draft model\n--spec-type [none|ngram-cache]   type\n',
      { jinja: false, mmproj: false, drafter: true, mtp: false, ngram: true },
    ],
  ])('reads them from the help of %s', (_what, text, expected) => {
    const help = parseHelp(text)
    expect(help === undefined ? undefined : abilitiesOf(help)).toEqual(expected)
  })
})

describe('pickVersion', () => {
  it.each([
    [
      'version: 0.7.0 (build 11669, commit Debian)\nbuilt with GNU 16.2.0\n',
      'version: 0.7.0 (build 11669, commit Debian)',
    ],
    ['ggml_cuda_init: found 1 CUDA devices:\n  Device 0: X\nversion: 6000 (abc)\n', 'version: 6000 (abc)'],
    ['INFO 11-30 loaded plugins\n0.11.2\n', '0.11.2'],
    ['sglang 0.5.6\n', 'sglang 0.5.6'],
    ['\n  nightly build\n', 'nightly build'],
    ['', undefined],
  ])('takes the line that says it: %j', (output, expected) => {
    expect(pickVersion(output)).toBe(expected)
  })
})
