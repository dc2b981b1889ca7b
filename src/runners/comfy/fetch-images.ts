import { MIB, SECOND_MS } from '../../kernel/units.ts'
import { anyOf } from './any-of.ts'
import type { RenderDeps, RenderEnd, RenderSignals } from './render.ts'
import { type ComfyImage, isPng } from './rules/read-answers.ts'

const FETCH_TIMEOUT_MS = 60 * SECOND_MS
/** A PNG of 2048 × 2048 pixels is 12 MiB before it is packed. */
const IMAGE_LIMIT_BYTES = 32 * MIB

/** The files of a finished render, in ComfyUI's order. Rejects with the reason of a signal; nothing is left behind. */
export async function fetchImages(
  places: readonly ComfyImage[],
  { left, cut }: RenderSignals,
  { call, fail }: RenderDeps,
): Promise<RenderEnd> {
  const images: Buffer[] = []
  const either = anyOf(left, cut)
  try {
    for (const { filename, subfolder, type } of places) {
      const answer = await call({
        method: 'GET',
        path: `/view?${new URLSearchParams({ filename, subfolder, type }).toString()}`,
        timeoutMs: FETCH_TIMEOUT_MS,
        limitBytes: IMAGE_LIMIT_BYTES,
        signal: either.signal,
      })
      for (const signal of [cut, left]) if (signal.aborted) throw signal.reason
      if (!answer.ok) return { kind: 'lost', error: fail(answer.error.message, {}, answer.error.cause) }
      const { status, bytes } = answer.value
      if (status !== 200 || !isPng(bytes)) {
        const what = status === 200 ? 'something that is no PNG' : `status ${status}`
        return { kind: 'lost', error: fail(`answered for the finished image "${filename}" with ${what}`) }
      }
      images.push(bytes)
    }
    return { kind: 'images', images }
  } finally {
    either.forget()
  }
}
