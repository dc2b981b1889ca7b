import { describe, expect, it } from 'vitest'
import { decideBind } from './decide-bind.ts'

describe('where the daemon may listen', () => {
  it.each([
    ['127.0.0.1', false, false, 'ok', false],
    ['127.9.9.9', false, false, 'ok', false],
    ['localhost', false, false, 'ok', false],
    ['LOCALHOST', false, false, 'ok', false],
    ['::1', false, false, 'ok', false],
    ['[::1]', false, false, 'ok', false],
    ['::', false, false, 'refused', false],
    ['0.0.0.0', false, false, 'refused', false],
    ['192.168.1.4', false, false, 'refused', false],
    ['gpu.lan', false, false, 'refused', false],
    ['127.0.0.1.evil.com', false, false, 'refused', false],
    ['0.0.0.0', false, true, 'ok', true],
    ['127.0.0.1', false, true, 'ok', false],
    ['0.0.0.0', true, false, 'ok', false],
    ['0.0.0.0', true, true, 'ok', true],
    ['127.0.0.1', true, false, 'ok', false],
  ] as const)('%s, users %s, --insecure %s: %s', (host, hasUsers, insecure, kind, isWarned) => {
    const decision = decideBind(host, { hasUsers, insecure })
    expect(decision.kind).toBe(kind)
    expect('warning' in decision).toBe(isWarned)
    if (decision.kind === 'refused') {
      expect(decision.message).toContain(host)
      expect(decision.remedy).toContain('hal0 user create NAME --admin')
    }
  })
})
