import { describe, expect, it } from 'vitest'
import { helpText, parseArgs } from './parse-args.ts'

const plain = {
  modelPath: 'm.gguf',
  host: '127.0.0.1',
  port: 8080,
  alias: 'm.gguf',
  ctxTokens: 0,
  threads: 0,
  parallel: 0,
  batchTokens: 0,
}

describe('parseArgs', () => {
  it.each([
    ['only a model', '-m m.gguf', plain],
    [
      'what a launch passes',
      '--host 127.0.0.1 --port 9001 --model m.gguf --alias a --ctx-size 4096 -ngl -1 --threads 3 --metrics',
      { ...plain, port: 9001, alias: 'a', ctxTokens: 4096, threads: 3 },
    ],
    ['an equals sign', '--model=m.gguf --alias=a=b', { ...plain, alias: 'a=b' }],
    ['the last of a repeated flag', '-m x.gguf -m m.gguf -c 5 --ctx-size 7', { ...plain, ctxTokens: 7 }],
    ["llama-server's -1 for automatic", '-m m.gguf -np -1 -t -1', plain],
    ['the flags of a pooled profile', '-m m.gguf -b 8192 -ub 8192 --embedding', { ...plain, batchTokens: 8192 }],
  ])('reads %s', (_what, line, expected) => {
    expect(parseArgs(line.split(' '))).toEqual({ ok: true, value: expected })
  })

  it.each([
    ['', '--model is missing'],
    ['--model', '--model needs a value'],
    ['-m m.gguf --frobnicate', 'unknown argument "--frobnicate"'],
    ['-m m.gguf stray', 'unknown argument "stray"'],
    ['-m m.gguf --port x', '--port needs a whole number'],
    ['-m m.gguf --port 65536', '--port must be between 0 and 65535'],
    ['-m m.gguf --ctx-size -5', '--ctx-size must be 0 or more'],
    ['-m m.gguf --parallel 257', '--parallel must be at most 256'],
    ['-m m.gguf --metrics=yes', '--metrics takes no value'],
  ])('refuses "%s": %s', (line, message) => {
    const result = parseArgs(line === '' ? [] : line.split(' '))
    expect(result.ok ? result.value : result.error).toContain(message)
  })

  it('prints every flag in its help', () => {
    expect(parseArgs(['-m', 'm.gguf', '--help'])).toEqual({ ok: true, value: 'help' })
    for (const flag of ['--model', '--alias', '--ctx-size', '-ngl', '--threads', '--parallel', '--metrics']) {
      expect(helpText()).toContain(flag)
    }
  })
})
