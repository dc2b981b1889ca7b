/**
 * The trade name of an AMD device, from libdrm's own list (`amdgpu.ids`: `744C,<tab>C8,<tab>AMD Radeon RX 7900 XTX`). `deviceId` and `revision` as in
 * sysfs: `0x744c`, `0xc8`. Undefined = it is not listed.
 */
export function amdNameIn(list: string, deviceId: string, revision: string): string | undefined {
  const wanted = [bare(deviceId), bare(revision)]
  for (const line of list.split('\n')) {
    if (line.startsWith('#')) continue
    const [device = '', rev = '', ...name] = line.split(',')
    if (bare(device) !== wanted[0] || bare(rev) !== wanted[1]) continue
    const text = name.join(',').trim()
    if (text !== '') return text
  }
  return undefined
}

/** The graphics part of a processor's name: `AMD RYZEN AI MAX+ 395 w/ Radeon 8060S` → `Radeon 8060S`. */
export function graphicsOfCpu(cpuModel: string | undefined): string | undefined {
  return /\b(?:w\/|with)\s*(Radeon\b.*)$/i.exec(cpuModel ?? '')?.[1]?.trim()
}

function bare(hex: string): string {
  return hex.trim().toLowerCase().replace(/^0x/, '')
}
