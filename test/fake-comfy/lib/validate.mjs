// What a ComfyUI takes and what it says of the rest, in its own words.

/** Node classes it has, and which of their inputs have to be there. @type {Record<string, string[]>} */
const CLASSES = {
  CheckpointLoaderSimple: ['ckpt_name'],
  CLIPTextEncode: ['text', 'clip'],
  EmptyLatentImage: ['width', 'height', 'batch_size'],
  KSampler: [
    'model',
    'seed',
    'steps',
    'cfg',
    'sampler_name',
    'scheduler',
    'positive',
    'negative',
    'latent_image',
    'denoise',
  ],
  VAEDecode: ['samples', 'vae'],
  SaveImage: ['images', 'filename_prefix'],
}
/** Which output of which class a linked input takes. @type {Record<string, [string, number]>} */
const LINKS = {
  clip: ['CheckpointLoaderSimple', 1],
  model: ['CheckpointLoaderSimple', 0],
  vae: ['CheckpointLoaderSimple', 2],
  positive: ['CLIPTextEncode', 0],
  negative: ['CLIPTextEncode', 0],
  latent_image: ['EmptyLatentImage', 0],
  samples: ['KSampler', 0],
  images: ['VAEDecode', 0],
}
/** @type {Record<string, [number, number]>} */
const RANGES = { width: [16, 16384], height: [16, 16384], batch_size: [1, 4096], steps: [1, 10000], cfg: [0, 100] }

/** @typedef {Record<string, { class_type: string, inputs: Record<string, any> }>} Graph */

/**
 * @param {Graph} graph @param {string[]} checkpoints
 * @returns {{ error: unknown, node_errors: unknown } | undefined} undefined = it is taken
 */
export function refusalOf(graph, checkpoints) {
  for (const [id, node] of Object.entries(graph)) {
    if (CLASSES[node.class_type] !== undefined) continue
    const message = `Cannot execute because node ${node.class_type} does not exist.`
    return { error: { type: 'invalid_prompt', message, details: `Node ID '#${id}'`, extra_info: {} }, node_errors: {} }
  }
  const ids = Object.keys(graph)
  if (!ids.some((id) => graph[id].class_type === 'SaveImage')) {
    const error = { type: 'prompt_no_outputs', message: 'Prompt has no outputs', details: '', extra_info: {} }
    return { error, node_errors: [] }
  }
  /** @type {Record<string, unknown>} */
  const nodeErrors = {}
  for (const id of ids) {
    const errors = complaints(graph, id, checkpoints)
    if (errors.length > 0) nodeErrors[id] = { errors, dependent_outputs: ['7'], class_type: graph[id].class_type }
  }
  if (Object.keys(nodeErrors).length === 0) return undefined
  const message = 'Prompt outputs failed validation'
  const error = { type: 'prompt_outputs_failed_validation', message, details: '', extra_info: {} }
  return { error, node_errors: nodeErrors }
}

/** @param {Graph} graph @param {string} id @param {string[]} checkpoints */
function complaints(graph, id, checkpoints) {
  const { class_type: type, inputs } = graph[id]
  /** @type {{ type: string, message: string, details: string, extra_info: object }[]} */
  const found = []
  /** @param {string} kind @param {string} message @param {string} details */
  const say = (kind, message, details) => found.push({ type: kind, message, details, extra_info: {} })
  for (const name of CLASSES[type]) {
    const value = inputs[name]
    if (value === undefined) say('required_input_missing', 'Required input is missing', name)
    else if (LINKS[name] !== undefined) {
      const [from, output] = LINKS[name]
      const fits = Array.isArray(value) && graph[value[0]]?.class_type === from && value[1] === output
      if (!fits) say('return_type_mismatch', 'Return type mismatch between linked nodes', name)
    } else if (name === 'ckpt_name' && !checkpoints.includes(value)) {
      say('value_not_in_list', 'Value not in list', `ckpt_name: '${value}' not in ${JSON.stringify(checkpoints)}`)
    } else if (RANGES[name] !== undefined && value < RANGES[name][0]) {
      say('value_smaller_than_min', `Value ${value} smaller than min of ${RANGES[name][0]}`, name)
    } else if (RANGES[name] !== undefined && value > RANGES[name][1]) {
      say('value_bigger_than_max', `Value ${value} bigger than max of ${RANGES[name][1]}`, name)
    }
  }
  return found
}
