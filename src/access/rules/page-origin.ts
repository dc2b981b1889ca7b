import { shortText } from '../../kernel/short-text.ts'
import { parseAuthority } from './authority.ts'
import { type RequestOrigin, valuesOf } from './client-address.ts'
import { routeClassOf } from './route-class.ts'

export interface PageRequest {
  readonly method: string
  /** The request target as it stood in the request line. */
  readonly target: string
  readonly rawHeaders: readonly string[]
  /** As hal0 is known to the client, and by which way. */
  readonly via: Pick<RequestOrigin, 'host' | 'isHttps'>
}

/** What is wrong with where a page comes from; undefined = nothing. */
export interface OriginFault {
  readonly header: 'origin' | 'sec-fetch-site'
  readonly reason: string
}

const SAFE = new Set(['GET', 'HEAD'])
const ADVICE =
  'Use hal0 under its own address, or send a key; a proxy in between belongs in [server] trusted_proxies of hal0.toml.'

/**
 * Does a page of another origin send this? `must: 'not_differ'`: nothing may say so. `must: 'be_proven'`: the browser has to say that it does not,
 * because the request carries a cookie, which browsers add by themselves, and changes something. Reads pass without a word: over plain HTTP browsers
 * give none, and another page cannot read the answer. Source: SPEC 14 "origin-checked", "`/api` is same-origin".
 */
export function findOriginFault(request: PageRequest, must: 'not_differ' | 'be_proven'): OriginFault | undefined {
  const origins = valuesOf(request, 'origin')
  const sites = valuesOf(request, 'sec-fetch-site')
  const foreignSite = sites.find((site) => site !== 'same-origin' && site !== 'none')
  // Following a link to the dashboard is no request of the other page.
  const isPage = routeClassOf(request.target) === 'page' && SAFE.has(request.method)
  if (foreignSite !== undefined && !isPage) {
    return {
      header: 'sec-fetch-site',
      reason: `A page of another origin asked (Sec-Fetch-Site is ${quote(foreignSite)}). ${ADVICE}`,
    }
  }
  const foreign = origins.length > 1 ? origins.at(-1) : origins.find((origin) => !isOwn(origin, request.via))
  if (foreign !== undefined) {
    return { header: 'origin', reason: `The Origin header is ${quote(foreign)}, not hal0's own. ${ADVICE}` }
  }
  if (must === 'not_differ' || SAFE.has(request.method) || origins.length === 1 || sites.length > 0) return undefined
  return { header: 'origin', reason: `A request with a cookie that changes something needs its Origin. ${ADVICE}` }
}

const DEFAULT_PORT: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** Same host and port. A page that came by https is hal0's own too where a proxy adds the s; one by http is not where https is in use. */
function isOwn(origin: string, { host: name, isHttps }: PageRequest['via']): boolean {
  const [, scheme = '', rest = ''] = /^([a-z]+:)\/\/(.*)$/.exec(origin) ?? []
  const port = DEFAULT_PORT[scheme]
  const page = parseAuthority(rest)
  const host = name === undefined ? undefined : parseAuthority(name)
  if (port === undefined || page === undefined || host === undefined) return false
  if (isHttps && scheme !== 'https:') return false
  return page.host === host.host && (page.port ?? port) === (host.port ?? port)
}

/** Origins may hold user info or a query in the hands of a stranger: nothing of that is repeated. */
function quote(text: string): string {
  if (text.includes('@')) return 'one with user info (not repeated here)'
  return JSON.stringify(shortText(text.split(/[?#;]/, 1)[0] ?? '', 100))
}
