/**
 * Which origins may use a route. `inference`: pages of this machine and of allowed hosts (CORS answers there). `management`: hal0's own
 * pages, and the browser must not say otherwise. `page`: the dashboard's files. Source: SPEC 11 "CORS", 14.
 */
export type RouteClass = 'inference' | 'management' | 'page'

/** What a URL parser might move or decode into another path; an escape in the first segment included. */
const AMBIGUOUS = /\/\/|\/\.{1,2}(?:\/|$)|%2e|%2f|%5c|\\|^\/[^/]*%/i

/**
 * Which room answers a request target: the inference hot path, or the management API and all else? By the raw text, which the
 * gateway never decodes: no spelling of an /api address begins like this.
 */
export function roomOf(target: string): 'gateway' | 'api' {
  const path = target.split(/[?#]/, 1)[0] ?? ''
  return isBelow(path, '/v1') || isBelow(path, '/upstream') ? 'gateway' : 'api'
}

/** By the raw request target; one that could be read as another path falls in the strictest class. */
export function routeClassOf(target: string): RouteClass {
  const path = target.split(/[?#]/, 1)[0] ?? ''
  if (AMBIGUOUS.test(path) || path === '*') return 'management'
  if (isBelow(path, '/v1') || isBelow(path, '/upstream')) return 'inference'
  if (isBelow(path.toLowerCase(), '/api') || isBelow(path.toLowerCase(), '/metrics')) return 'management'
  return 'page'
}

/** Is it an engine's own route, passed on as it is? By the raw request target. */
export function isUpstream(target: string): boolean {
  return isBelow(target.split(/[?#]/, 1)[0] ?? '', '/upstream')
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`)
}
