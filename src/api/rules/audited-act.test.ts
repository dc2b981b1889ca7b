import { describe, expect, it } from 'vitest'
import { auditedAct, selectAuditArea } from './audited-act.ts'

it.each([
  ['PUT /api/lanes/{name}/config', 'lanes'],
  ['POST /api/lanes/{name}/manual', 'lanes'],
  ['DELETE /api/lanes/{name}', 'lanes'],
  ['POST /api/reservations/{id}/approve', 'reservations'],
  ['PATCH /api/slots/{name}/defaults', 'slots'],
  ['POST /api/slots/{name}/rename', 'slots'],
  ['POST /api/comfyui/pin', 'comfyui'],
  // A route that is new is written down unless somebody decides otherwise.
  ['POST /api/something/new', 'something'],
  ['GET /api/lanes', undefined],
  ['HEAD /api/lanes', undefined],
  ['POST /api/reservations/check', undefined],
  ['POST /api/models/inspect', undefined],
  ['POST /api/notifications/read', undefined],
  ['POST /api/slots/{name}/load', undefined],
  ['POST /api/slots/{name}/swap', undefined],
  // Their rooms do it themselves.
  ['POST /api/users', undefined],
  ['DELETE /api/keys/{key}', undefined],
  ['POST /api/session', undefined],
  ['POST /api/calendar-token', undefined],
])('%s: %s', (route, area) => {
  const [method = '', template = ''] = route.split(' ')
  expect(selectAuditArea({ method, template })).toBe(area)
})

describe('an act', () => {
  const done = { method: 'PUT', template: '/api/lanes/{name}/config', path: '/api/lanes/gpu0/config' }
  const bare = { ...done, fields: [], madeAt: undefined, owner: undefined }

  it('names what was changed, what was made, and whose it is', () => {
    expect(auditedAct(bare, 'ada')).toEqual({
      message: 'ada did PUT /api/lanes/gpu0/config',
      data: { route: 'PUT /api/lanes/{name}/config', path: '/api/lanes/gpu0/config', fields: [] },
    })
    expect(auditedAct({ ...bare, fields: ['approval', 'limits'] }, 'ada').message).toBe(
      'ada did PUT /api/lanes/gpu0/config: approval, limits',
    )
    expect(auditedAct({ ...bare, madeAt: '/api/lanes/gpu0', owner: 'bob' }, 'ada')).toMatchObject({
      message: 'ada did PUT /api/lanes/gpu0/config (made /api/lanes/gpu0), a booking of bob',
      data: { made: '/api/lanes/gpu0', owner: 'bob' },
    })
  })

  it('leaves out keys that are no settings, and more than a few', () => {
    const many = Array.from({ length: 30 }, (_, nth) => `key_${nth}`)
    const fields = ['hal0_secretKey', 'has space', '', 'x'.repeat(41), 'approval']
    expect(auditedAct({ ...bare, fields }, 'ada').data['fields']).toEqual(['approval'])
    expect(auditedAct({ ...bare, fields: many }, 'ada').data['fields']).toHaveLength(20)
  })
})
