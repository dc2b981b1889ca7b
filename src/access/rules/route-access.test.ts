import { describe, expect, it } from 'vitest'
import { MEMBER_ROUTES, OPEN_ROUTES, routeAccess } from './route-access.ts'

describe('who may use a route', () => {
  it.each([
    ['GET', '/api/health', 'open'],
    ['HEAD', '/api/health', 'open'],
    ['get', '/api/health', 'open'],
    ['POST', '/api/health', 'admin'],
    ['POST', '/api/session', 'open'],
    ['GET', '/api/session', 'member'],
    ['POST', '/api/session/set-up', 'open'],
    ['GET', '/api/lanes/{name}/calendar.ics', 'open'],
    ['GET', '/api/lanes/gpu0/calendar.ics', 'admin'],
    ['GET', '/api/slots', 'member'],
    ['POST', '/api/slots', 'admin'],
    ['GET', '/api/slots/{name}/config', 'admin'],
    ['GET', '/api/slots/{name}/logs', 'admin'],
    ['GET', '/api/slots/{name}/resolved', 'admin'],
    ['POST', '/api/reservations', 'member'],
    ['POST', '/api/reservations/{id}/approve', 'admin'],
    ['POST', '/api/reservations/{id}/reject', 'admin'],
    ['POST', '/api/lanes/{name}/manual', 'admin'],
    ['PATCH', '/api/users/{user}', 'member'],
    ['DELETE', '/api/users/{user}', 'admin'],
    ['GET', '/api/events', 'admin'],
    ['GET', '/metrics', 'admin'],
    ['GET', '/api/anything/new', 'admin'],
    ['', '', 'admin'],
  ] as const)('%s %s: %s', (method, path, access) => {
    expect(routeAccess(method, path)).toBe(access)
  })

  it('is listed once', () => {
    const lines = [...OPEN_ROUTES, ...MEMBER_ROUTES].map(({ method, path }) => `${method} ${path}`)
    expect(new Set(lines).size).toBe(lines.length)
    expect(lines.every((line) => /^(GET|POST|PATCH|DELETE|PUT) \/api\/\S+$/.test(line))).toBe(true)
  })
})
