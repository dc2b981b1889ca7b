import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isAddress, isInRanges, networkOf } from './address-range.ts'
import { clientAddressOf } from './client-address.ts'

describe('ranges', () => {
  it.each([
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.0.0.0', '10.0.0.0/8', false],
    ['10.0.0.1', '10.0.0.1', true],
    ['10.0.0.2', '10.0.0.1', false],
    ['10.0.0.2', '10.0.0.0/31', false],
    ['10.0.0.1', '10.0.0.0/31', true],
    ['1.2.3.4', '0.0.0.0/0', true],
    ['::1', '0.0.0.0/0', false],
    ['::1', '::/0', true],
    ['::1', '::1', true],
    ['0:0:0:0:0:0:0:1', '::1/128', true],
    ['::ffff:10.1.2.3', '10.0.0.0/8', true],
    ['10.1.2.3', '::ffff:10.0.0.0/104', true],
    ['11.1.2.3', '::ffff:10.0.0.0/104', false],
    ['fd00::1', 'fd00::/8', true],
    ['fe00::1', 'fd00::/8', false],
    ['fe80::1%eth0', 'fe80::/10', false],
    ['10.0.0.1', '10.0.0.0/33', false],
    ['10.0.0.1', '10.0.0.0/x', false],
    ['10.0.0.1', 'nonsense', false],
    ['nonsense', '0.0.0.0/0', false],
    ['', '::/0', false],
    ['010.0.0.1', '10.0.0.0/8', false],
    ['1:2:3:4:5:6:7', '::/0', false],
    ['1::2::3', '::/0', false],
    ['1:2:3:4:5:6:7::8', '::/0', false],
  ])('%s in %s: %s', (address, range, expected) => expect(isInRanges(address, [range])).toBe(expected))

  it('takes every address that there is, and finds it in itself', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        expect(isAddress(address)).toBe(true)
        expect(isInRanges(address, [address])).toBe(true)
      }),
    )
  })

  it.each([
    ['10.0.0.1', '10.0.0.2', false],
    ['10.0.0.1', '::ffff:10.0.0.1', true],
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['', 'x', false],
  ])('%s and %s are counted together: %s', (one, other, expected) => {
    expect(networkOf(one) === networkOf(other)).toBe(expected)
  })
})

describe('where a request comes from', () => {
  const of = (remoteAddress: string | undefined, headers: Record<string, string>, trusted = ['10.0.0.0/8', '::1']) =>
    clientAddressOf({ remoteAddress, rawHeaders: ['Host', 'gpu.lan', ...Object.entries(headers).flat()] }, trusted)

  it.each([
    [
      'of a stranger, headers do not count',
      '9.9.9.9',
      { 'X-Forwarded-For': '1.1.1.1', 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'evil' },
      '9.9.9.9',
      false,
      'gpu.lan',
    ],
    [
      'of a proxy, they do',
      '10.0.0.1',
      { 'X-Forwarded-For': '1.1.1.1', 'x-forwarded-proto': 'HTTPS', 'x-forwarded-host': 'hal0.example' },
      '1.1.1.1',
      true,
      'hal0.example',
    ],
    [
      'a mapped address is the same proxy',
      '::ffff:10.0.0.1',
      { 'X-Forwarded-For': '1.1.1.1' },
      '1.1.1.1',
      false,
      'gpu.lan',
    ],
    [
      'the last stranger counts, not what he says',
      '10.0.0.1',
      { 'X-Forwarded-For': '6.6.6.6, 1.1.1.1' },
      '1.1.1.1',
      false,
      'gpu.lan',
    ],
    [
      'through two proxies',
      '10.0.0.1',
      { 'X-Forwarded-For': '6.6.6.6, 1.1.1.1,10.0.0.2' },
      '1.1.1.1',
      false,
      'gpu.lan',
    ],
    ['proxies all the way', '10.0.0.1', { 'X-Forwarded-For': '10.0.0.3, 10.0.0.2' }, '10.0.0.3', false, 'gpu.lan'],
    ['nothing is said', '10.0.0.1', {}, '10.0.0.1', false, 'gpu.lan'],
    ['nonsense ends the chain', '10.0.0.1', { 'X-Forwarded-For': '1.1.1.1, unknown' }, '10.0.0.1', false, 'gpu.lan'],
    ['with ports', '10.0.0.1', { 'X-Forwarded-For': '1.1.1.1:4711' }, '1.1.1.1', false, 'gpu.lan'],
    ['IPv6 with a port', '::1', { 'X-Forwarded-For': '[2001:db8::1]:80' }, '2001:db8::1', false, 'gpu.lan'],
    ['the nearest proxy says how', '10.0.0.1', { 'X-Forwarded-Proto': 'https, http' }, '10.0.0.1', false, 'gpu.lan'],
    ['gone', undefined, { 'X-Forwarded-For': '1.1.1.1' }, '', false, 'gpu.lan'],
  ])('%s', (_name, remote, headers, address, isHttps, host) => {
    expect(of(remote, headers as Record<string, string>)).toEqual({ address, isHttps, host })
  })

  it('without trusted proxies nothing counts', () => {
    expect(of('127.0.0.1', { 'X-Forwarded-For': '1.1.1.1' }, [])).toMatchObject({ address: '127.0.0.1' })
  })
})
