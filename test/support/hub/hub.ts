import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Content, sha256Of, sizeOf } from './content.ts'
import { sendFile, type Trick } from './send-file.ts'

/** A file of a repository. */
export interface StandInFile {
  readonly content: Content
  /** What the list says instead of the true checksum; null = it names none (as for a file outside LFS). */
  readonly listedSha256?: string | null
  /** What the list says instead of the true size. */
  readonly listedBytes?: number
}

/** An answer of the API in place of the true one. */
export interface ApiTrick {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface SeenRequest {
  readonly server: 'hub' | 'cdn'
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface StandInHubOptions {
  /** Repository → path → file. May be changed while it runs. */
  readonly repos: Record<string, Record<string, StandInFile>>
  /** Files come from a second server, to which the hub redirects, with the hub's tags in `X-Linked-*`. */
  readonly cdn?: boolean
  /** Only requests with this token get files. */
  readonly gatedBy?: string
  /** Entries of the list on one page. */
  readonly pageEntries?: number
  /** Repository → commit, which its `main` stands for; without it the hub does not tell. */
  readonly commits?: Readonly<Record<string, string>>
}

/**
 * A stand-in for a Hugging Face hub on 127.0.0.1, honest unless told otherwise: the next GET of a file takes the first of `tricks`, the
 * next question for a list the first of `apiTricks`.
 */
export class StandInHub {
  readonly tricks: Trick[] = []
  /** When `tricks` is empty. */
  always: Trick | undefined
  readonly apiTricks: ApiTrick[] = []
  readonly requests: SeenRequest[] = []
  readonly options: StandInHubOptions
  readonly #servers: readonly Server[]
  readonly #origins: readonly string[]
  readonly #sums = new Map<Content, string>()

  private constructor(options: StandInHubOptions, servers: readonly Server[], origins: readonly string[]) {
    this.options = options
    this.#servers = servers
    this.#origins = origins
  }

  static async start(options: StandInHubOptions): Promise<StandInHub> {
    const [hub, cdn] = [createServer(), createServer()]
    const hubOrigin = await listen(hub)
    const cdnOrigin = await listen(cdn)
    const standIn = new StandInHub(options, [hub, cdn], [hubOrigin, cdnOrigin])
    hub.on('request', (request: IncomingMessage, response: ServerResponse) => standIn.#answer('hub', request, response))
    cdn.on('request', (request: IncomingMessage, response: ServerResponse) => standIn.#answer('cdn', request, response))
    return standIn
  }

  /** For HF_ENDPOINT. */
  get endpoint(): string {
    return this.#origins[0] ?? ''
  }

  /** GETs of files that were answered with a body or an error, not with a redirect. */
  get fetches(): readonly SeenRequest[] {
    const server = this.options.cdn === true ? 'cdn' : 'hub'
    return this.requests.filter(
      (seen) => seen.server === server && seen.method === 'GET' && !seen.url.startsWith('/api/'),
    )
  }

  sha256(repo: string, path: string): string {
    const file = this.options.repos[repo]?.[path]
    if (file === undefined) throw new Error(`no file ${path} in ${repo}`)
    const known = this.#sums.get(file.content) ?? sha256Of(file.content)
    this.#sums.set(file.content, known)
    return known
  }

  async close(): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }

  #answer(server: 'hub' | 'cdn', request: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url = '/', headers } = request
    this.requests.push({ server, method, url, headers })
    const { pathname, searchParams } = new URL(url, 'http://hub')
    const [, kind, org = '', name = '', what, ...rest] = pathname.split('/').map(decodeURIComponent)
    if (kind === 'api') return this.#answerApi(request, response, searchParams)
    // /org/name/resolve/revision/path, on both servers.
    const repo = `${kind ?? ''}/${org}`
    const path = [what, ...rest].slice(1).join('/')
    const file = name === 'resolve' ? this.options.repos[repo]?.[path] : undefined
    if (file === undefined) return send(response, 404, {}, 'Entry not found')
    const { gatedBy } = this.options
    if (server === 'hub' && gatedBy !== undefined && headers.authorization !== `Bearer ${gatedBy}`) {
      return send(response, 403, { 'x-error-message': `Access to model ${repo} is restricted` }, '')
    }
    const tag = this.sha256(repo, path)
    if (server === 'hub' && this.options.cdn === true) {
      const linked = { 'x-linked-etag': `"${tag}"`, 'x-linked-size': String(sizeOf(file.content)) }
      return send(response, 302, { ...linked, location: `${this.#origins[1]}${url}` }, '')
    }
    const trick = method === 'GET' ? (this.tricks.shift() ?? this.always) : undefined
    sendFile(request, response, file.content, tag, trick)
  }

  #answerApi(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): void {
    const [, , , org = '', name = '', what = '', revision = ''] = (request.url ?? '').split(/[/?]/)
    const repo = `${org}/${name}`
    const files = this.options.repos[repo]
    if (what === 'revision') {
      const commit = this.options.commits?.[repo]
      if (commit === undefined || files === undefined) return send(response, 404, {}, '')
      return send(response, 200, {}, JSON.stringify({ sha: commit, tags: ['gguf', 'license:apache-2.0'] }))
    }
    const trick = this.apiTricks.shift()
    if (trick !== undefined) return send(response, trick.status, trick.headers ?? {}, trick.body ?? '')
    const isKnown = revision === 'main' || revision === this.options.commits?.[repo]
    if (what !== 'tree' || files === undefined || !isKnown) {
      return send(response, 404, {}, JSON.stringify({ error: 'Repository not found' }))
    }
    const entries = Object.entries(files).map(([path, file]) => this.#listed(repo, path, file))
    const from = Number(query.get('cursor') ?? 0)
    const to = from + (this.options.pageEntries ?? 1000)
    const next = `${this.endpoint}/api/models/${repo}/tree/${revision}?recursive=true&cursor=${to}`
    const link: Record<string, string> = to < entries.length ? { link: `<${next}>; rel="next"` } : {}
    return send(response, 200, link, JSON.stringify(entries.slice(from, to)))
  }

  #listed(repo: string, path: string, file: StandInFile): object {
    const size = file.listedBytes ?? sizeOf(file.content)
    const entry = { type: 'file', oid: '0'.repeat(40), path, size }
    if (file.listedSha256 === null) return entry
    return { ...entry, lfs: { oid: file.listedSha256 ?? this.sha256(repo, path), size, pointerSize: 134 } }
  }
}

function send(response: ServerResponse, status: number, headers: Readonly<Record<string, string>>, body: string): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
