/** What a picture is made of. */
export interface WorkflowWish {
  /** A name as ComfyUI lists its checkpoints, folder included. */
  readonly checkpoint: string
  readonly prompt: string
  /** What should not be seen; '' = nothing is said. */
  readonly negative: string
  /** Pixels, a multiple of 8. */
  readonly width: number
  readonly height: number
  /** Sampling steps ≥ 1. */
  readonly steps: number
  /** How closely the prompt is followed (classifier-free guidance). */
  readonly cfg: number
  /** The same seed and wish give the same picture; 0 to 2^53 - 1. */
  readonly seed: number
  /** A sampler by ComfyUI's name, for example `euler`. */
  readonly sampler: string
  /** Pictures in one render, ≥ 1; they share the GPU's memory. */
  readonly batch: number
}

/** An output of another node: its id, and which of its outputs. */
type NodeLink = readonly [nodeId: string, output: number]

interface WorkflowNode {
  readonly class_type: string
  readonly inputs: Readonly<Record<string, string | number | NodeLink>>
}

/** A graph in the form that `POST /prompt` takes: node id → node. */
export type Workflow = Readonly<Record<string, WorkflowNode>>

/** ComfyUI's default; others suit some models better, but every model works with it. */
const SCHEDULER = 'normal'
/** What the saved files are called on ComfyUI's side. */
const FILE_PREFIX = 'hal0'

/** Which graph paints this, with a checkpoint that holds its own text encoder and VAE? Source: SPEC 8. */
export function buildWorkflow(wish: WorkflowWish): Workflow {
  const { checkpoint, prompt, negative, width, height, steps, cfg, seed, sampler, batch } = wish
  return {
    '1': { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: checkpoint } },
    '2': { class_type: 'CLIPTextEncode', inputs: { text: prompt, clip: ['1', 1] } },
    '3': { class_type: 'CLIPTextEncode', inputs: { text: negative, clip: ['1', 1] } },
    '4': { class_type: 'EmptyLatentImage', inputs: { width, height, batch_size: batch } },
    '5': {
      class_type: 'KSampler',
      inputs: {
        model: ['1', 0],
        positive: ['2', 0],
        negative: ['3', 0],
        latent_image: ['4', 0],
        seed,
        steps,
        cfg,
        sampler_name: sampler,
        scheduler: SCHEDULER,
        denoise: 1,
      },
    },
    '6': { class_type: 'VAEDecode', inputs: { samples: ['5', 0], vae: ['1', 2] } },
    '7': { class_type: 'SaveImage', inputs: { images: ['6', 0], filename_prefix: FILE_PREFIX } },
  }
}
