import { err, ok, type Result } from '../../kernel/result.ts'

/** What a request to `/v1/images/generations` asks for; undefined = it does not say. */
export interface ImageRequest {
  readonly prompt: string
  readonly negative: string
  /** Images, 1 to 10. */
  readonly count: number
  readonly size: ImageSize | undefined
  readonly steps: number | undefined
  readonly seed: number | undefined
}

/** Pixels. */
export interface ImageSize {
  readonly width: number
  readonly height: number
}

/** What is wrong with a request, for the client. */
export interface ImageMistake {
  readonly param: string
  readonly message: string
}

const MAX_IMAGES = 10
/** As OpenAI's own service has it. */
const MAX_PROMPT_CHARS = 32_000
const MIN_SIDE = 64
/** Larger ones would be let in only to run out of memory. */
const MAX_SIDE = 2_048
/** Latent images have one point for so many pixels a side. */
const SIDE_STEP = 8
const MAX_STEPS = 200

type Fields = ReadonlyMap<string, unknown>
type Read<T> = Result<T, ImageMistake>

/**
 * What is asked for? `null` is the same as absent. Fields that only steer other engines (`quality`, `style`, `user`, `background`, …) are
 * ignored where ignoring them gives what was asked for, and refused where it does not. Source: SPEC 11, 16.
 */
export function readImageRequest(body: unknown): Read<ImageRequest> {
  if (typeof body !== 'object' || body === null) return mistake('prompt', 'The body is not a JSON object')
  const fields: Fields = new Map(Object.entries(body).filter(([, value]) => value !== null))
  const prompt = readPrompt(fields)
  if (!prompt.ok) return prompt
  const negative = readText(fields, 'negative_prompt')
  if (!negative.ok) return negative
  const count = readWhole(fields, 'n', 1, MAX_IMAGES)
  if (!count.ok) return count
  const size = readSize(fields)
  if (!size.ok) return size
  const steps = readWhole(fields, 'steps', 1, MAX_STEPS)
  if (!steps.ok) return steps
  const seed = readWhole(fields, 'seed', 0, Number.MAX_SAFE_INTEGER)
  if (!seed.ok) return seed
  const unfit = findUnfit(fields)
  if (unfit !== undefined) return err(unfit)
  return ok({
    prompt: prompt.value,
    negative: negative.value,
    count: count.value ?? 1,
    size: size.value,
    steps: steps.value,
    seed: seed.value,
  })
}

/** Undefined = this is no size that can be painted: WIDTHxHEIGHT, each side a multiple of 8 from 64 to 2048. */
export function parseImageSize(text: string): ImageSize | undefined {
  const [, width = '', height = ''] = /^(\d{1,5})x(\d{1,5})$/.exec(text) ?? []
  const size = { width: Number(width), height: Number(height) }
  return isSide(size.width) && isSide(size.height) ? size : undefined
}

function isSide(pixels: number): boolean {
  return pixels >= MIN_SIDE && pixels <= MAX_SIDE && pixels % SIDE_STEP === 0
}

function readPrompt(fields: Fields): Read<string> {
  const prompt = fields.get('prompt')
  if (prompt === undefined) return mistake('prompt', 'The field "prompt" is missing: a text that says what to paint')
  if (typeof prompt !== 'string') return mistake('prompt', 'The field "prompt" is not a string')
  if (prompt.trim() === '') return mistake('prompt', 'The field "prompt" is empty: it should say what to paint')
  return checkLength('prompt', prompt)
}

function readText(fields: Fields, name: string): Read<string> {
  const text = fields.get(name) ?? ''
  return typeof text === 'string' ? checkLength(name, text) : mistake(name, `The field "${name}" is not a string`)
}

function checkLength(name: string, text: string): Read<string> {
  if (text.length <= MAX_PROMPT_CHARS) return ok(text)
  return mistake(name, `The field "${name}" has ${text.length} characters; at most ${MAX_PROMPT_CHARS} are taken`)
}

function readWhole(fields: Fields, name: string, min: number, max: number): Read<number | undefined> {
  const value = fields.get(name)
  if (value === undefined) return ok(undefined)
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return ok(value)
  return mistake(name, `The field "${name}" is not a whole number from ${min} to ${max}`)
}

function readSize(fields: Fields): Read<ImageSize | undefined> {
  const size = fields.get('size')
  if (size === undefined || size === 'auto') return ok(undefined)
  const parsed = typeof size === 'string' ? parseImageSize(size) : undefined
  if (parsed !== undefined) return ok(parsed)
  const range = `each side a multiple of ${SIDE_STEP} from ${MIN_SIDE} to ${MAX_SIDE}`
  return mistake('size', `The field "size" is not "auto" or WIDTHxHEIGHT, ${range}, for example 1024x1024`)
}

/** What was asked for in so many words, and cannot be given. */
function findUnfit(fields: Fields): ImageMistake | undefined {
  const is = (name: string, ...fit: readonly unknown[]): boolean => fit.includes(fields.get(name) ?? fit[0])
  if (!is('response_format', 'b64_json')) {
    return {
      param: 'response_format',
      message:
        'hal0 keeps no images to link to: the only "response_format" is "b64_json", which is also what is taken without one',
    }
  }
  if (!is('output_format', 'png')) return { param: 'output_format', message: 'The only "output_format" here is "png"' }
  if (!is('background', 'auto', 'opaque')) {
    return { param: 'background', message: 'Images here have no transparency: "background" is "auto" or "opaque"' }
  }
  if (!is('stream', false) || !is('partial_images', 0)) {
    const param = is('stream', false) ? 'partial_images' : 'stream'
    return { param, message: `Images are not streamed here: leave "${param}" out` }
  }
  return undefined
}

function mistake(param: string, message: string): Read<never> {
  return err({ param, message })
}
