import { z } from 'zod'
import { sleep } from '../../kernel/clock.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { MIB } from '../../kernel/units.ts'
import { askHub, describeLoss, type HubAnswer, type HubAsk, type HubHttpDeps } from './hub-http.ts'
import type { HubFile } from './rules/hub-file.ts'
import { type HubQuestion, hubRefusal, hubUnreachable } from './rules/hub-refusal.ts'
import { retryAfterMs } from './rules/judge-answer.ts'

// The hub's own client library was considered: with what it needs it weighs more than all of hal0, it brings an upload protocol, and
// a download that is resumed has to see every answer anyway.

/** A hub sends a thousand names a page. */
const MAX_PAGES = 50
const MAX_LIST_BYTES = 32 * MIB

/** Somebody waits for a list: two more attempts, then it is told. */
const LIST_PAUSES_MS = [1_000, 2_000] as const
const MAX_LIST_WAIT_MS = 15_000

/** So much of the hub's own words goes into an error. */
const MAX_SAID_CHARS = 200

const treeSchema = z.array(
  z.object({
    type: z.string(),
    path: z.string(),
    size: z.number().int().nonnegative().optional(),
    lfs: z.object({ oid: z.string().optional(), size: z.number().int().nonnegative().optional() }).nullish(),
  }),
)
const infoSchema = z.object({ sha: z.string().optional(), tags: z.array(z.string()).optional() })

/** A repository in one version. */
export interface HubRepo {
  readonly repo: string
  /** Branch, tag or commit. */
  readonly revision: string
}

/** A hub: what is in a repository, and its files. */
export class Hub {
  readonly #deps: HubHttpDeps

  constructor(deps: HubHttpDeps) {
    this.#deps = deps
  }

  /** The commit behind the revision and the licence, as far as the hub tells; never rejects but for an abort. */
  async about(at: HubRepo, signal: AbortSignal): Promise<{ commit: string | null; license: string | null }> {
    const url = `${this.#deps.endpoint}/api/models/${at.repo}/revision/${encodeURIComponent(at.revision)}`
    const page = await this.#ask(url, signal).catch(() => null)
    signal.throwIfAborted()
    const info = infoSchema.safeParse(page?.status === 200 ? page.json : null)
    const license = info.data?.tags?.find((tag) => tag.startsWith('license:'))?.slice('license:'.length)
    const commit = info.data?.sha
    return {
      commit: commit !== undefined && /^[0-9a-f]{40,64}$/.test(commit) ? commit : null,
      license: license ?? null,
    }
  }

  /** All files of a repository. Errors: `hub.unreachable`, `validation.invalid` (no such repository or revision). */
  async list(at: HubRepo, signal: AbortSignal): Promise<readonly HubFile[]> {
    const question = this.#question(at, null)
    const files: HubFile[] = []
    let url: string | null =
      `${this.#deps.endpoint}/api/models/${at.repo}/tree/${encodeURIComponent(at.revision)}?recursive=true`
    for (let pages = 0; url !== null; pages++) {
      if (pages === MAX_PAGES) throw hubUnreachable(question, `its list of files has more than ${MAX_PAGES} pages`)
      const page: ListPage = await this.#askPatiently(url, question, signal)
      const tree = treeSchema.safeParse(page.json)
      if (!tree.success) throw hubUnreachable(question, 'its list of files is not in the form of a hub')
      for (const entry of tree.data) if (entry.type === 'file') files.push(fileOf(entry))
      url = nextPage(page.link, url)
    }
    return files
  }

  /** Begins to fetch a file; the caller judges the answer and closes it. Rejects as `askHub` does. */
  open(at: HubRepo, path: string, ask: Omit<HubAsk, 'url'>, signal: AbortSignal): Promise<HubAnswer> {
    return askHub(this.#deps, { url: this.urlOf(at, path), ...ask }, signal)
  }

  /** The error for an answer that refuses a file. Closes the answer. */
  async refusalOf(at: HubRepo, path: string, answer: HubAnswer): Promise<Hal0Error> {
    const said = await saidBy(answer)
    answer.close()
    return hubRefusal({ ...this.#question(at, path), hasToken: answer.hasToken }, answer.head.status, said)
  }

  /** The error for a file that does not arrive. */
  unreachable(at: HubRepo, path: string, reason: string): Hal0Error {
    return hubUnreachable(this.#question(at, path), reason)
  }

  urlOf(at: HubRepo, path: string): string {
    const encoded = path.split('/').map(encodeURIComponent).join('/')
    return `${this.#deps.endpoint}/${at.repo}/resolve/${encodeURIComponent(at.revision)}/${encoded}`
  }

  #question(at: HubRepo, path: string | null): HubQuestion {
    return { endpoint: this.#deps.endpoint, ...at, path, hasToken: false }
  }

  async #askPatiently(url: string, question: HubQuestion, signal: AbortSignal): Promise<ListPage> {
    let reason = ''
    for (const pauseMs of [...LIST_PAUSES_MS, null]) {
      let waitMs = 0
      try {
        const page = await this.#ask(url, signal)
        if (page.status === 200) return page
        const mayPass = page.status === 429 || page.status === 408 || page.status >= 500
        if (!mayPass) throw hubRefusal({ ...question, hasToken: page.hasToken }, page.status, page.said)
        reason = `it answered HTTP ${page.status}`
        waitMs = page.waitMs
        if (waitMs > MAX_LIST_WAIT_MS)
          throw hubUnreachable(question, `${reason} and wants us back in ${waitMs / 1000} s`)
      } catch (cause) {
        signal.throwIfAborted()
        if (cause instanceof Hal0Error) throw cause
        reason = describeLoss(cause)
      }
      if (pauseMs !== null) await sleep(this.#deps.clock, Math.max(pauseMs, waitMs), signal)
      signal.throwIfAborted()
    }
    throw hubUnreachable(question, reason)
  }

  async #ask(url: string, signal: AbortSignal): Promise<ListPage> {
    const answer = await askHub(this.#deps, { url, method: 'GET', headers: { accept: 'application/json' } }, signal)
    try {
      const { status, headers } = answer.head
      const about = { status, hasToken: answer.hasToken, link: headers['link'], waitMs: retryAfterMs(headers) }
      if (status !== 200) return { ...about, json: null, said: await saidBy(answer) }
      const chunks: Buffer[] = []
      let sizeBytes = 0
      for await (const chunk of answer.chunks) {
        sizeBytes += chunk.length
        if (sizeBytes > MAX_LIST_BYTES) throw new Error(`an answer of more than ${MAX_LIST_BYTES / MIB} MiB`)
        chunks.push(chunk)
      }
      const json: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
      return { ...about, json, said: '' }
    } finally {
      answer.close()
    }
  }
}

interface ListPage {
  readonly status: number
  readonly hasToken: boolean
  readonly link: string | undefined
  readonly waitMs: number
  readonly json: unknown
  readonly said: string
}

function fileOf(entry: z.output<typeof treeSchema>[number]): HubFile {
  const oid = entry.lfs?.oid?.replace(/^sha256:/, '').toLowerCase()
  const sha256 = oid !== undefined && /^[0-9a-f]{64}$/.test(oid) ? oid : null
  return { path: entry.path, sizeBytes: entry.lfs?.size ?? entry.size ?? 0, sha256 }
}

/** The next page of a list, if it is on the same server. */
function nextPage(link: string | undefined, from: string): string | null {
  const target = /<([^>]*)>\s*;[^,]*\brel="?next"?/i.exec(link ?? '')?.[1]
  if (target === undefined || !URL.canParse(target, from)) return null
  const url = new URL(target, from)
  return url.origin === new URL(from).origin ? url.href : null
}

/** What the hub says about its refusal: a header, or the start of a short body. One line. */
async function saidBy(answer: HubAnswer): Promise<string> {
  const header = answer.head.headers['x-error-message']
  if (header !== undefined) return oneLine(header)
  try {
    for await (const chunk of answer.chunks) {
      const text = chunk.toString('utf8', 0, 2_000)
      const [, json] = /"error"\s*:\s*"([^"]*)"/.exec(text) ?? []
      return oneLine(json ?? (text.trimStart().startsWith('<') ? '' : text))
    }
  } catch {
    // Its status says enough.
  }
  return ''
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_SAID_CHARS)
}
