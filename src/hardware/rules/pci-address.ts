const PCI_ADDRESS = /^([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$/i

/**
 * One spelling for one place: `00000000:C1:00.0` (nvidia-smi) and `0000:c1:00.0` (the kernel) are both `0000:c1:00.0`. Undefined = no PCI address.
 */
export function normalizePciAddress(text: string): string | undefined {
  const match = PCI_ADDRESS.exec(text.trim())
  if (match === null) return undefined
  const [, domain = '', bus = '', device = '', fn = ''] = match
  return `${Number.parseInt(domain, 16).toString(16).padStart(4, '0')}:${bus}:${device}.${fn}`.toLowerCase()
}

/** The PCI device that a folder of /sys/devices belongs to: the last address in its path. */
export function pciAddressIn(path: string): string | undefined {
  return path
    .split('/')
    .map(normalizePciAddress)
    .findLast((address) => address !== undefined)
}

/** Order of normalized addresses: domain, bus, device, function. What has no address comes last. */
export function comparePciAddresses(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  const [left, right] = [partsOf(a), partsOf(b)]
  for (const [at, part] of left.entries()) {
    const difference = part - (right[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function partsOf(address: string): readonly number[] {
  return address.split(/[:.]/).map((part) => Number.parseInt(part, 16))
}
