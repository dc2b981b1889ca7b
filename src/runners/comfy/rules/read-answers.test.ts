import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPng, readCheckpoints, readHistory, readQueue, readRefusal, readSubmitted } from './read-answers.ts'

const image = { filename: 'a.png', subfolder: 'x', type: 'output' }
const entry = (more: object) => ({ id1: { prompt: [], outputs: {}, ...more } })
const ended = (status_str: string, ...messages: readonly unknown[]) => ({
  status: { status_str, completed: true, messages },
})
const failed = (message: string, more: object = {}) => ({ kind: 'failed', failure: { message, ...more } })

describe('readHistory', () => {
  it.each([
    ['nothing yet', {}, 'absent'],
    ['another one', { id2: {} }, 'absent'],
    [
      'images',
      entry({ outputs: { 7: { images: [image] } }, ...ended('success') }),
      { kind: 'images', images: [image] },
    ],
    ['images of an old build', entry({ outputs: { 7: { images: [image] } } }), { kind: 'images', images: [image] }],
    [
      'a place that says little',
      entry({ outputs: { 7: { images: [{ filename: 'a.png' }] } } }),
      { kind: 'images', images: [{ filename: 'a.png', subfolder: '', type: 'output' }] },
    ],
    [
      'outputs of other kinds',
      entry({ outputs: { 3: { text: ['x'] }, 7: { images: [image] } } }),
      { kind: 'images', images: [image] },
    ],
    ['no image', entry(ended('success')), failed('it ended without an image')],
    [
      'an error beside images',
      entry({
        outputs: { 7: { images: [image] } },
        ...ended(
          'error',
          ['execution_start', {}],
          [
            'execution_error',
            { node_id: '5', node_type: 'KSampler', exception_type: 'OOM', exception_message: 'full \n' },
          ],
        ),
      }),
      failed('OOM: full', { node: '5', class: 'KSampler' }),
    ],
    [
      'an error without words',
      entry(ended('error', ['execution_error', { node_id: 5 }])),
      failed('ComfyUI does not say why'),
    ],
    ['an error without a message', entry(ended('error')), failed('ComfyUI does not say why')],
    ['interrupted', entry(ended('error', ['execution_interrupted', {}])), failed('somebody interrupted it in ComfyUI')],
    ['a list', [], undefined],
    ['garbage', { id1: 7 }, undefined],
    ['a page', undefined, undefined],
  ])('%s', (_name, json, expected) => expect(readHistory(json, 'id1')).toEqual(expected))

  it('never throws', () => {
    fc.assert(fc.property(fc.jsonValue(), (json) => void readHistory({ id1: json }, 'id1')))
  })
})

describe('readQueue', () => {
  it.each([
    [
      { queue_running: [], queue_pending: [] },
      { running: [], pending: [] },
    ],
    [
      {
        queue_running: [[3, 'a', {}, {}, ['7']]],
        queue_pending: [
          [4, 'b'],
          [5, 'c', {}],
        ],
      },
      { running: ['a'], pending: ['b', 'c'] },
    ],
    [{ queue_running: [] }, undefined],
    [{ queue_running: [[3]], queue_pending: [] }, undefined],
    [null, undefined],
  ])('%j', (json, expected) => expect(readQueue(json)).toEqual(expected))
})

describe('readRefusal', () => {
  const words = {
    type: 'value_not_in_list',
    message: 'Value not in list',
    details: "ckpt_name: 'x' not in []",
    extra_info: {},
  }
  it.each([
    [
      'names the node and what it says',
      {
        error: { message: 'Prompt outputs failed validation', details: '' },
        node_errors: { 1: { class_type: 'CheckpointLoaderSimple', errors: [words, { message: 'B' }] } },
      },
      {
        message: "node 1 (CheckpointLoaderSimple): Value not in list: ckpt_name: 'x' not in []; B",
        nodes: [
          { node: '1', class: 'CheckpointLoaderSimple', errors: ["Value not in list: ckpt_name: 'x' not in []", 'B'] },
        ],
      },
    ],
    [
      'without nodes',
      { error: { message: 'Prompt has no outputs', details: '' }, node_errors: [] },
      { message: 'Prompt has no outputs', nodes: [] },
    ],
    ['a bare text', { error: 'no prompt' }, { message: 'no prompt', nodes: [] }],
    ['none', { detail: 'x' }, undefined],
    ['a page', undefined, undefined],
  ])('%s', (_name, json, expected) => expect(readRefusal(json)).toEqual(expected))
})

it.each([
  ['old builds', [['a', 'b'], { tooltip: 'x' }], ['a', 'b']],
  ['the oldest', [['a']], ['a']],
  ['new builds', ['COMBO', { options: ['a', 'b'] }], ['a', 'b']],
  ['none', [[]], []],
  ['something else', ['COMBO', {}], undefined],
])('readCheckpoints of %s', (_name, ckpt_name, expected) => {
  expect(readCheckpoints({ CheckpointLoaderSimple: { input: { required: { ckpt_name } } } })).toEqual(expected)
})

it.each([
  [{ prompt_id: 'a', number: 1, node_errors: {} }, 'a'],
  [{ prompt_id: '' }, undefined],
  [{}, undefined],
  ['a', undefined],
])('readSubmitted %j', (json, expected) => expect(readSubmitted(json)).toBe(expected))

it.each([
  [[0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0], true],
  [[0x89, 0x50, 0x4e, 0x47], false],
  [[0xff, 0xd8], false],
  [[], false],
])('isPng %j', (bytes, expected) => expect(isPng(Uint8Array.from(bytes))).toBe(expected))
