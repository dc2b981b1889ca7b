import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildWorkflow } from './build-workflow.ts'

const WISH = {
  checkpoint: 'xl.safetensors',
  prompt: 'a fox',
  negative: 'text',
  width: 1024,
  height: 768,
  steps: 20,
  cfg: 7,
  seed: 42,
  sampler: 'euler',
  batch: 2,
}

describe('buildWorkflow', () => {
  it('says every wish at its place', () => {
    const nodes = Object.values(buildWorkflow(WISH)).map(({ class_type, inputs }) => [class_type, inputs] as const)
    expect(nodes).toEqual([
      ['CheckpointLoaderSimple', { ckpt_name: 'xl.safetensors' }],
      ['CLIPTextEncode', { text: 'a fox', clip: ['1', 1] }],
      ['CLIPTextEncode', { text: 'text', clip: ['1', 1] }],
      ['EmptyLatentImage', { width: 1024, height: 768, batch_size: 2 }],
      [
        'KSampler',
        {
          model: ['1', 0],
          positive: ['2', 0],
          negative: ['3', 0],
          latent_image: ['4', 0],
          seed: 42,
          steps: 20,
          cfg: 7,
          sampler_name: 'euler',
          scheduler: 'normal',
          denoise: 1,
        },
      ],
      ['VAEDecode', { samples: ['5', 0], vae: ['1', 2] }],
      ['SaveImage', { images: ['6', 0], filename_prefix: 'hal0' }],
    ])
  })

  it('links only to nodes that are there, whatever a prompt says', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (prompt, negative) => {
        const workflow = buildWorkflow({ ...WISH, prompt, negative })
        const links = Object.values(workflow).flatMap(({ inputs }) =>
          Object.values(inputs).flatMap((value) => (typeof value === 'object' ? [value] : [])),
        )
        for (const [node] of links) expect(workflow).toHaveProperty([node])
        expect(JSON.parse(JSON.stringify(workflow))).toEqual(workflow)
      }),
    )
  })
})
