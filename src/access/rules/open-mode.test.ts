import { describe, expect, it } from 'vitest'
import { isLoopbackAddress, parseAuthority } from './authority.ts'
import { FORWARDED_HEADERS, isForwardedHeader } from './forwarded-headers.ts'
import { decideOpenAccess, type OpenAccessInput } from './open-mode.ts'
import { roomOf, routeClassOf } from './route-class.ts'

type Headers = OpenAccessInput['headers']

function decide(headers: Headers, rest: Partial<OpenAccessInput> = {}) {
  return decideOpenAccess({ target: '/api/slots', remoteAddress: '127.0.0.1', allowedHosts: [], headers, ...rest })
}
const withHost = (...more: Headers): Headers => [['Host', '127.0.0.1:8080'], ...more]
const refusedFor = (header: string | undefined) => ({ allow: false, header })

describe('1 the connection', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1', '::FFFF:127.0.0.1'])(
    '%s is this machine',
    (address) => {
      expect(decide(withHost(), { remoteAddress: address })).toEqual({ allow: true })
    },
  )
  it.each([undefined, '192.168.1.4', '::ffff:10.0.0.1', 'fe80::1', '0.0.0.0', '::', 'localhost', '127.0.0.1.5', ''])(
    '%s is not',
    (address) => {
      expect(decide(withHost(), { remoteAddress: address })).toMatchObject(refusedFor(undefined))
      expect(isLoopbackAddress(address)).toBe(false)
    },
  )
})

describe('2 the target', () => {
  it.each(['http://127.0.0.1:8080/api/slots', 'http://evil.com/v1/models', 'evil.com:443', ''])(
    'refuses %s',
    (target) => {
      expect(decide(withHost(), { target })).toMatchObject(refusedFor(undefined))
    },
  )
  it('takes OPTIONS *', () => expect(decide(withHost(), { target: '*' })).toEqual({ allow: true }))
})

describe('3 forwarded headers', () => {
  it.each([
    ...FORWARDED_HEADERS,
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'x-forwarded',
    'X_Forwarded_For',
    'X-Original-URL',
    'Tailscale-User-Login',
  ])('%s refuses and is named', (name) => {
    const decision = decide(withHost([name, 'x']))
    expect(decision).toMatchObject(refusedFor(name.toLowerCase()))
    expect(decision.allow ? '' : decision.reason).toContain(name.toLowerCase())
  })
  it.each(['user-agent', 'x-stainless-os', 'x-request-id', 'authorization', 'x-hal0-wait', 'connection', 'referer'])(
    '%s does not matter',
    (name) => {
      expect(isForwardedHeader(name)).toBe(false)
      expect(decide(withHost([name, 'x']))).toEqual({ allow: true })
    },
  )
})

describe('4 Host', () => {
  it.each([
    'localhost',
    'localhost:8080',
    'LOCALHOST:1',
    '127.0.0.1',
    '127.0.0.1:65535',
    '127.255.255.255',
    '[::1]',
    '[::1]:8080',
  ])('%s is loopback', (host) => expect(decide([['host', host]])).toEqual({ allow: true }))

  it.each([
    'evil.com',
    'evil.com:8080',
    '127.0.0.1.evil.com',
    'localhost.evil.com',
    'evil.localhost',
    'localhost.',
    '127.0.0.1.',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0x7f000001',
    '0177.0.0.1',
    '127.0.0.01',
    '127.0.0.256',
    '128.0.0.1',
    '0.0.0.0',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[0:0:0:0:0:0:0:1]',
    '[::1%lo]',
    '[::1',
    '::1',
    'user@localhost',
    'localhost@evil.com',
    'localhost:8080@evil.com',
    'localhost:',
    'localhost:0',
    'localhost:65536',
    'localhost:080800',
    'localhost:80:80',
    'localhost/',
    'localhost#evil',
    'localhost?x',
    'localhost evil.com',
    'localhost,evil.com',
    'localhost\\evil',
    'ｌocalhost',
    'localhost%2eevil.com',
    ' ',
    '',
    'http://localhost',
  ])('%j is not', (host) => {
    const decision = decide([['Host', host]])
    expect(decision).toMatchObject(refusedFor('host'))
    expect(decision.allow ? '' : decision.reason).toContain('allowed_hosts')
  })

  it('missing is refused and said so', () => {
    expect(decide([])).toMatchObject({ header: 'host', reason: expect.stringContaining('is missing') })
  })

  it.each([
    ['loopback first', '127.0.0.1', 'evil.com'],
    ['loopback last', 'evil.com', '127.0.0.1'],
    ['the same twice', 'localhost', 'localhost'],
  ])('repeated is refused: %s', (_, first, second) => {
    expect(
      decide([
        ['Host', first],
        ['host', second],
      ]),
    ).toMatchObject(refusedFor('host'))
  })

  it.each([
    ['gpu.lan', ['gpu.lan'], true],
    ['GPU.lan:8080', ['gpu.LAN'], true],
    ['gpu.lan:8080', ['gpu.lan:8080'], true],
    ['gpu.lan:8081', ['gpu.lan:8080'], false],
    ['gpu.lan', ['gpu.lan:8080'], false],
    ['my_box', ['my_box'], true],
    ['gpu.lan.', ['gpu.lan'], false],
    ['a.gpu.lan', ['gpu.lan'], false],
    ['a.gpu.lan', ['*.gpu.lan'], false],
    ['evil.com', ['*'], false],
    ['[fd00::1]:8080', ['[fd00::1]'], true],
    ['192.168.1.4', ['192.168.1.4'], true],
  ])('%s with allowed_hosts %j: %s', (host, allowedHosts, allow) => {
    expect(decide([['Host', host]], { allowedHosts }).allow).toBe(allow)
  })

  it('cuts what it repeats of a long value', () => {
    const decision = decide([['Host', 'x'.repeat(5000)]])
    expect(decision.allow ? '' : decision.reason.length).toBeLessThan(400)
  })
})

describe('5 Origin', () => {
  const at = (target: string, origin: string, host = '127.0.0.1:8080', allowedHosts: string[] = []) =>
    decide(
      [
        ['Host', host],
        ['Origin', origin],
      ],
      { target, allowedHosts },
    )

  it.each([
    // Own pages.
    ['/api/slots', 'http://127.0.0.1:8080', true],
    ['/metrics', 'http://127.0.0.1:8080', true],
    ['/', 'http://127.0.0.1:8080', true],
    ['/v1/models', 'http://127.0.0.1:8080', true],
    // Another program's page on this machine: inference yes, management no.
    ['/v1/models', 'http://localhost:3000', true],
    ['/v1/models', 'https://localhost', true],
    ['/upstream/agent/props', 'http://[::1]:5173', true],
    ['/api/slots', 'http://localhost:8080', false],
    ['/api/slots', 'http://127.0.0.1:3000', false],
    ['/api/slots', 'http://127.0.0.1', false],
    ['/api/slots', 'https://127.0.0.1:8080', false],
    ['/metrics', 'http://localhost:3000', false],
    ['/', 'http://localhost:3000', false],
    // Tricks with the path.
    ['/v1/../api/slots', 'http://localhost:3000', false],
    ['/v1/%2e%2e/api/slots', 'http://localhost:3000', false],
    ['/v1x/models', 'http://localhost:3000', false],
    ['//v1/models', 'http://localhost:3000', false],
    // Foreign everywhere.
    ['/v1/models', 'http://evil.com', false],
    ['/v1/models', 'null', false],
    ['/v1/models', '', false],
    ['/v1/models', 'file://', false],
    ['/v1/models', 'file://localhost', false],
    ['/v1/models', 'chrome-extension://abcdef', false],
    ['/v1/models', 'http://localhost.evil.com', false],
    ['/v1/models', 'http://127.0.0.1.evil.com', false],
    ['/v1/models', 'http://localhost:3000@evil.com', false],
    ['/v1/models', 'http://localhost:3000/', false],
    ['/v1/models', 'localhost:3000', false],
    ['/v1/models', 'http://localhost:3000, http://evil.com', false],
    ['/api/slots', 'null', false],
    ['/api/slots', 'http://evil.com', false],
  ])('%s from %j: %s', (target, origin, allow) => {
    const decision = at(target, origin)
    expect(decision.allow).toBe(allow)
    if (!decision.allow) expect(decision.header).toBe('origin')
  })

  it.each([
    ['the default port is port 80', 'localhost', 'http://localhost', true],
    ['said or not', 'localhost:80', 'http://localhost', true],
    ['not another', 'localhost', 'http://localhost:8080', false],
    ['case does not matter', 'LOCALHOST:8080', 'http://localhost:8080', true],
  ])('same-origin: %s', (_, host, origin, allow) => {
    expect(at('/api/slots', origin, host).allow).toBe(allow)
  })

  it('a page of an allowed host may infer, and manage when hal0 was reached by that very address', () => {
    expect(at('/v1/models', 'https://gpu.lan', '127.0.0.1:8080', ['gpu.lan']).allow).toBe(true)
    expect(at('/api/slots', 'http://gpu.lan', '127.0.0.1:8080', ['gpu.lan']).allow).toBe(false)
    expect(at('/api/slots', 'http://gpu.lan:8080', 'gpu.lan:8080', ['gpu.lan']).allow).toBe(true)
  })

  it('repeated is refused', () => {
    const twice = withHost(['Origin', 'http://127.0.0.1:8080'], ['origin', 'http://127.0.0.1:8080'])
    expect(decide(twice)).toMatchObject(refusedFor('origin'))
  })

  it('a preflight of a page on this machine passes', () => {
    const preflight = withHost(
      ['Origin', 'http://localhost:3000'],
      ['Access-Control-Request-Method', 'POST'],
      ['Access-Control-Request-Headers', 'authorization,x-stainless-os'],
      ['Sec-Fetch-Site', 'cross-site'],
      ['Sec-Fetch-Mode', 'cors'],
    )
    expect(decide(preflight, { target: '/v1/chat/completions' })).toEqual({ allow: true })
    expect(decide(preflight, { target: '/api/slots/agent/load' })).toMatchObject(refusedFor('origin'))
  })
})

describe('6 Sec-Fetch-Site', () => {
  it.each([
    ['/api/slots', 'same-origin', true],
    ['/api/slots', 'none', true],
    ['/api/slots', 'same-site', false],
    ['/api/slots', 'cross-site', false],
    ['/api/slots', 'Cross-Site', false],
    ['/%61pi/slots', 'cross-site', false],
    ['/metrics', 'cross-site', false],
    ['/', 'cross-site', true],
    ['/v1/models', 'cross-site', true],
  ])('%s with %s: %s', (target, site, allow) => {
    expect(decide(withHost(['Sec-Fetch-Site', site]), { target }).allow).toBe(allow)
  })
})

describe('route classes', () => {
  it.each([
    ['/v1', 'inference'],
    ['/v1/chat/completions?x=1', 'inference'],
    ['/upstream/agent/', 'inference'],
    ['/api', 'management'],
    ['/API/slots', 'management'],
    ['/api?x=/v1/', 'management'],
    ['/metrics', 'management'],
    ['/v1\\..\\api', 'management'],
    ['/apiary', 'page'],
    ['/', 'page'],
  ])('%s is %s', (target, expected) => expect(routeClassOf(target)).toBe(expected))

  it.each([
    ['/v1', 'gateway'],
    ['/v1/models/hal0%2Fagent', 'gateway'],
    ['/v1?x', 'gateway'],
    ['/upstream/agent/', 'gateway'],
    ['/v1x', 'api'],
    ['//v1/models', 'api'],
    ['/api/slots?x=/v1/', 'api'],
    ['http://h/v1/models', 'api'],
    ['*', 'api'],
  ])('%s is answered by the %s', (target, expected) => expect(roomOf(target)).toBe(expected))
})

describe('what is quoted', () => {
  const reasonOf = (headers: Headers, target = '/v1/models') => {
    const decision = decide(headers, { target })
    expect(decision.allow).toBe(false)
    return decision.allow ? '' : decision.reason
  }
  it.each<[string, Headers, string | undefined]>([
    ['a query in the target', withHost(), 'http://evil.com/v1/models?api_key=SECRET'],
    ['a query in a target that is no path', withHost(), 'v1/models?api_key=SECRET'],
    ['a fragment', withHost(), 'evil.com#SECRET'],
    ['user info in the target', withHost(), 'http://user:SECRET@127.0.0.1/v1/models'],
    ['user info with a question mark', withHost(), 'http://user:SE?CRET@127.0.0.1/v1/models'],
    ['user info in Host', [['Host', 'user:SECRET@localhost']], undefined],
    ['a query in Host', [['Host', 'evil.com?api_key=SECRET']], undefined],
    ['user info in Origin', withHost(['Origin', 'http://user:SECRET@localhost']), undefined],
    ['a query in Origin', withHost(['Origin', 'http://evil.com/?token=SECRET']), undefined],
    [
      'one of two',
      [
        ['Host', 'localhost'],
        ['Host', 'a:SECRET@b'],
      ],
      undefined,
    ],
  ])('holds no secret: %s', (_name, headers, target) => {
    expect(reasonOf(headers, target)).not.toMatch(/SE\?|CRET/)
  })
  it('says the rest', () => expect(reasonOf([['Host', 'evil.com:1']])).toContain('"evil.com:1"'))
})

it('authorities keep their parts', () => {
  expect(parseAuthority('[::1]:8080')).toEqual({ host: '[::1]', port: 8080 })
  expect(parseAuthority('Gpu-1.LAN')).toEqual({ host: 'gpu-1.lan', port: undefined })
})
