/** An IP address as a number, so that ranges are compared by their bits. */
interface Address {
  readonly bits: 32 | 128
  readonly value: bigint
}

const V4_PART = /^(?:0|[1-9][0-9]{0,2})$/
const V6_GROUP = /^[0-9a-f]{1,4}$/
const V6_GROUPS = 8
/** `::ffff:0:0/96`: IPv4 addresses as sockets that speak both show them. */
const MAPPED_PREFIX = 0xffffn

/** IPv4, or IPv6 without a zone; IPv4 inside IPv6 counts as IPv4. Undefined = no address. Source: RFC 4291 2.2. */
function parseAddress(text: string): Address | undefined {
  const plain = text.trim().toLowerCase()
  if (!plain.includes(':')) return parseV4(plain)
  const [head = '', tail, ...more] = plain.split('::')
  if (more.length > 0) return undefined
  const before = groupsOf(head)
  const after = tail === undefined ? [] : groupsOf(tail)
  if (before === undefined || after === undefined) return undefined
  const missing = V6_GROUPS - before.length - after.length
  // `::` stands for at least one group.
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined
  const groups = [...before, ...Array.from({ length: missing }, () => 0n), ...after]
  const value = groups.reduce((sum, group) => (sum << 16n) | group, 0n)
  if (value >> 32n === MAPPED_PREFIX) return { bits: 32, value: value & 0xffff_ffffn }
  return { bits: 128, value }
}

function parseV4(text: string): Address | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => V4_PART.test(part) && Number(part) <= 255)) return undefined
  return { bits: 32, value: parts.reduce((sum, part) => (sum << 8n) | BigInt(part), 0n) }
}

/** The 16-bit groups of one side of `::`; the last may be an IPv4 address, which is two. */
function groupsOf(side: string): bigint[] | undefined {
  if (side === '') return []
  const groups: bigint[] = []
  const parts = side.split(':')
  for (const [at, part] of parts.entries()) {
    const v4 = at === parts.length - 1 && part.includes('.') ? parseV4(part) : undefined
    if (v4 !== undefined) groups.push(v4.value >> 16n, v4.value & 0xffffn)
    else if (V6_GROUP.test(part)) groups.push(BigInt(`0x${part}`))
    else return undefined
  }
  return groups
}

/** Is this text an IP address? */
export function isAddress(text: string): boolean {
  return parseAddress(text) !== undefined
}

/** Is the address one of these, or in one of these ranges (`10.0.0.0/8`)? What is no address or range matches nothing. */
export function isInRanges(address: string, ranges: readonly string[]): boolean {
  if (ranges.length === 0) return false
  const wanted = parseAddress(address)
  return wanted !== undefined && ranges.some((range) => isInRange(wanted, range))
}

function isInRange(wanted: Address, range: string): boolean {
  const [text = '', length] = range.split('/')
  const base = parseAddress(text)
  if (base === undefined || base.bits !== wanted.bits) return false
  // A mapped range such as ::ffff:10.0.0.0/104 counts its bits from the start of the long form.
  const shown = length === undefined ? base.bits : Number(length) - (base.bits === 32 && text.includes(':') ? 96 : 0)
  if (!Number.isInteger(shown) || shown < 0 || shown > base.bits) return false
  const rest = BigInt(base.bits - shown)
  return wanted.value >> rest === base.value >> rest
}

/** How many addresses of one home or company share a prefix: whoever has one has all of it. */
const V6_SHARED_BITS = 64n

/** By what an address is counted: itself, or of IPv6 its /64, of which one machine may use any address. Anything else: the text. */
export function networkOf(address: string): string {
  const parsed = parseAddress(address)
  if (parsed === undefined) return address
  if (parsed.bits === 128) return `v6/${(parsed.value >> V6_SHARED_BITS).toString(16)}`
  return `v4/${parsed.value.toString(16)}`
}
