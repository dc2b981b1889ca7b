import { describe, expect, it } from 'vitest'
import { findOriginFault } from './page-origin.ts'

function fault(
  line: string,
  headers: Record<string, string>,
  must: 'not_differ' | 'be_proven' = 'be_proven',
  via = { host: 'gpu.lan:8080', isHttps: false } as { host: string | undefined; isHttps: boolean },
) {
  const [method = '', target = ''] = line.split(' ')
  return findOriginFault({ method, target, rawHeaders: Object.entries(headers).flat(), via }, must)?.header
}

const OWN = 'http://gpu.lan:8080'

describe('a request with a cookie', () => {
  it.each([
    ['POST /api/slots', { Origin: OWN }, undefined],
    ['POST /api/slots', { 'Sec-Fetch-Site': 'same-origin' }, undefined],
    ['POST /api/slots', { Origin: OWN, 'Sec-Fetch-Site': 'same-origin' }, undefined],
    ['POST /api/slots', {}, 'origin'],
    ['DELETE /api/session', {}, 'origin'],
    ['POST /v1/chat/completions', {}, 'origin'],
    ['POST /api/slots', { Origin: 'null' }, 'origin'],
    ['POST /api/slots', { Origin: 'http://gpu.lan:3000' }, 'origin'],
    ['POST /api/slots', { Origin: 'http://gpu.lan' }, 'origin'],
    ['POST /api/slots', { Origin: 'http://evil.com' }, 'origin'],
    ['POST /api/slots', { Origin: OWN, 'Sec-Fetch-Site': 'same-site' }, 'sec-fetch-site'],
    ['POST /api/slots', { Origin: OWN, 'Sec-Fetch-Site': 'cross-site' }, 'sec-fetch-site'],
    ['POST /upstream/agent/x', { 'Sec-Fetch-Site': 'same-site' }, 'sec-fetch-site'],
    // Reads: over plain HTTP browsers say nothing, and another page cannot read the answer.
    ['GET /api/slots', {}, undefined],
    ['HEAD /v1/models', {}, undefined],
    ['GET /v1/models', { Origin: 'http://evil.com' }, 'origin'],
    ['GET /v1/models', { 'Sec-Fetch-Site': 'same-site' }, 'sec-fetch-site'],
    ['GET /api/slots', { 'Sec-Fetch-Site': 'cross-site' }, 'sec-fetch-site'],
    // A link to the dashboard.
    ['GET /', { 'Sec-Fetch-Site': 'cross-site' }, undefined],
    ['POST /', { 'Sec-Fetch-Site': 'cross-site' }, 'sec-fetch-site'],
    ['GET /', { 'Sec-Fetch-Site': 'none' }, undefined],
  ])('%s %j: %s', (line, headers, expected) => expect(fault(line, headers as Record<string, string>)).toBe(expected))

  it.each([
    ['https://gpu.lan', 'gpu.lan', false, undefined],
    ['https://gpu.lan', 'gpu.lan', true, undefined],
    ['http://gpu.lan', 'gpu.lan', true, 'origin'],
    ['http://gpu.lan:80', 'gpu.lan', false, undefined],
    ['https://gpu.lan:443', 'gpu.lan', true, undefined],
    ['https://gpu.lan:8443', 'gpu.lan', true, 'origin'],
    ['http://GPU.lan:8080', 'gpu.LAN:8080', false, undefined],
    ['http://gpu.lan', undefined, false, 'origin'],
    ['ftp://gpu.lan', 'gpu.lan', false, 'origin'],
  ])('%s for %s, https %s: %s', (origin, host, isHttps, expected) => {
    expect(fault('POST /api/slots', { Origin: origin }, 'be_proven', { host, isHttps })).toBe(expected)
  })

  it('without one nothing has to be proven, but nothing may differ', () => {
    expect(fault('POST /api/session', {}, 'not_differ')).toBeUndefined()
    expect(fault('POST /api/session', { Origin: 'http://evil.com' }, 'not_differ')).toBe('origin')
  })

  it('two origins are one too many, and secrets in them are not repeated', () => {
    const rawHeaders = ['Origin', OWN, 'origin', `http://a:SECRET@b`]
    const via = { host: 'gpu.lan:8080', isHttps: false }
    const found = findOriginFault({ method: 'GET', target: '/api/slots', rawHeaders, via }, 'not_differ')
    expect(found).toMatchObject({ header: 'origin' })
    expect(found?.reason).not.toContain('SECRET')
  })
})
