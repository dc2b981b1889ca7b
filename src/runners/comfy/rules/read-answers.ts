import { z } from 'zod'
import { shortText } from '../../../kernel/short-text.ts'

/** Enough of an engine's words to understand them. */
const MAX_WORDS_CHARS = 1_000

/** Number, id, graph, facts, outputs; only the id matters. */
const queueItemSchema = z.tuple([z.unknown(), z.string()], z.unknown())
const queueSchema = z.object({ queue_running: z.array(queueItemSchema), queue_pending: z.array(queueItemSchema) })

/** Ids of ComfyUI's own queue, each list in ComfyUI's order. */
export interface ComfyQueue {
  readonly running: readonly string[]
  readonly pending: readonly string[]
}

/** What does `GET /queue` say? Undefined = it is no such answer. */
export function readQueue(json: unknown): ComfyQueue | undefined {
  const parsed = queueSchema.safeParse(json)
  if (!parsed.success) return undefined
  const ids = (items: readonly z.output<typeof queueItemSchema>[]) => items.map((item) => item[1])
  return { running: ids(parsed.data.queue_running), pending: ids(parsed.data.queue_pending) }
}

const imageSchema = z.object({
  filename: z.string().min(1),
  subfolder: z.string().default(''),
  type: z.string().default('output'),
})
/** Where `GET /view` finds a picture. */
export type ComfyImage = z.output<typeof imageSchema>

const entrySchema = z.object({
  outputs: z.record(z.string(), z.object({ images: z.array(imageSchema).optional() })).default({}),
  // Older builds say nothing of it: a render without pictures has failed there.
  status: z
    .object({
      status_str: z.string(),
      messages: z.array(z.tuple([z.string(), z.record(z.string(), z.unknown())])).default([]),
    })
    .nullish(),
})

/** How did a render end? */
export type RenderOutcome =
  | { readonly kind: 'images'; readonly images: readonly ComfyImage[] }
  | { readonly kind: 'failed'; readonly failure: RenderFailure }

/** `message`: ComfyUI's own words, for people; `node` and `class`: the node that failed, where ComfyUI says. */
export interface RenderFailure {
  readonly message: string
  readonly node?: string
  readonly class?: string
}

/** What does `GET /history/{id}` say of this render? `absent` = it is not over; undefined = it is no such answer. */
export function readHistory(json: unknown, id: string): RenderOutcome | 'absent' | undefined {
  const parsed = z.record(z.string(), z.unknown()).safeParse(json)
  if (!parsed.success) return undefined
  const found = parsed.data[id]
  if (found === undefined) return 'absent'
  const entry = entrySchema.safeParse(found)
  if (!entry.success) return undefined
  const { outputs, status } = entry.data
  const messages = new Map(status?.messages ?? [])
  const error = messages.get('execution_error')
  if (error !== undefined) return { kind: 'failed', failure: executionError(error) }
  if (messages.has('execution_interrupted')) {
    return { kind: 'failed', failure: { message: 'somebody interrupted it in ComfyUI' } }
  }
  if (status?.status_str === 'error') return { kind: 'failed', failure: { message: 'ComfyUI does not say why' } }
  const images = Object.values(outputs).flatMap((output) => output.images ?? [])
  return images.length === 0
    ? { kind: 'failed', failure: { message: 'it ended without an image' } }
    : { kind: 'images', images }
}

function executionError(facts: Readonly<Record<string, unknown>>): RenderFailure {
  const text = (key: string): string => (typeof facts[key] === 'string' ? facts[key].trim() : '')
  const [node, type] = [text('node_id'), text('node_type')]
  const said = [text('exception_type'), text('exception_message')].filter((part) => part !== '').join(': ')
  return {
    message: shortText(said === '' ? 'ComfyUI does not say why' : said, MAX_WORDS_CHARS),
    ...(node === '' ? {} : { node }),
    ...(type === '' ? {} : { class: type }),
  }
}

const submittedSchema = z.object({ prompt_id: z.string().min(1) })

/** The id of the render that `POST /prompt` took; undefined = it is no such answer. */
export function readSubmitted(json: unknown): string | undefined {
  return submittedSchema.safeParse(json).data?.prompt_id
}

const wordsSchema = z.object({ message: z.string(), details: z.string().optional() })
const refusalSchema = z.object({
  error: z.union([z.string(), wordsSchema]),
  // An empty list where there are none.
  node_errors: z
    .record(z.string(), z.object({ class_type: z.string().default(''), errors: z.array(wordsSchema).default([]) }))
    .catch({}),
})

/** One node that ComfyUI does not take, and what it says of it. */
export interface NodeComplaint {
  readonly node: string
  readonly class: string
  readonly errors: readonly string[]
}

/** Why was a graph not taken by `POST /prompt`? Undefined = the answer does not say. */
export function readRefusal(
  json: unknown,
): { readonly message: string; readonly nodes: readonly NodeComplaint[] } | undefined {
  const parsed = refusalSchema.safeParse(json)
  if (!parsed.success) return undefined
  const { error, node_errors } = parsed.data
  const nodes = Object.entries(node_errors).map(
    ([node, { class_type, errors }]): NodeComplaint => ({ node, class: class_type, errors: errors.map(wordsOf) }),
  )
  const complaints = nodes.map((node) => `node ${node.node} (${node.class}): ${node.errors.join('; ')}`)
  const message = complaints.length > 0 ? complaints.join('; ') : typeof error === 'string' ? error : wordsOf(error)
  return { message: shortText(message, MAX_WORDS_CHARS), nodes }
}

function wordsOf({ message, details = '' }: z.output<typeof wordsSchema>): string {
  return shortText(details === '' ? message : `${message}: ${details}`, MAX_WORDS_CHARS)
}

const choicesSchema = z.union([
  z.tuple([z.array(z.string())], z.unknown()).transform(([names]) => names),
  // Newer builds.
  z
    .tuple([z.string(), z.object({ options: z.array(z.string()) })], z.unknown())
    .transform(([, { options }]) => options),
])
const loaderSchema = z.object({
  CheckpointLoaderSimple: z.object({ input: z.object({ required: z.object({ ckpt_name: choicesSchema }) }) }),
})

/** The checkpoints that `GET /object_info/CheckpointLoaderSimple` lists, in its order; undefined = it is no such answer. */
export function readCheckpoints(json: unknown): readonly string[] | undefined {
  return loaderSchema.safeParse(json).data?.CheckpointLoaderSimple.input.required.ckpt_name
}

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] as const

/** Is it a PNG file, which is what SaveImage writes? */
export function isPng(bytes: Uint8Array): boolean {
  return PNG.every((byte, at) => bytes[at] === byte)
}
