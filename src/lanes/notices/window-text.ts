/** Zones of the people of one machine are few; a formatter costs much to make. */
const MAX_KEPT = 64
const kept = new Map<string, Intl.DateTimeFormat>()

/**
 * A window as its reader's clock shows it, with the zone: `Tue 1 Dec 2026, 18:00 to 20:00 (Europe/Berlin)`. Where the two ends are on
 * different sides of a clock change, each says its offset. A zone that is unknown here is UTC. Times are epoch ms.
 */
export function windowText(startMs: number, endMs: number, timeZone = 'UTC'): string {
  const { format, zone } = formatOf(timeZone)
  const [start, end] = [partsOf(format, startMs), partsOf(format, endMs)]
  const isChange = start.offset !== end.offset
  const from = isChange ? `${start.time} ${start.offset}` : start.time
  const to = isChange ? `${end.time} ${end.offset}` : end.time
  return `${start.day}, ${from} to ${start.day === end.day ? '' : `${end.day}, `}${to} (${zone})`
}

function formatOf(timeZone: string): { readonly format: Intl.DateTimeFormat; readonly zone: string } {
  const known = kept.get(timeZone)
  if (known !== undefined) return { format: known, zone: timeZone }
  let format: Intl.DateTimeFormat
  try {
    format = makeFormat(timeZone)
  } catch {
    return { format: makeFormat('UTC'), zone: 'UTC' }
  }
  if (kept.size >= MAX_KEPT) kept.clear()
  kept.set(timeZone, format)
  return { format, zone: timeZone }
}

function makeFormat(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'shortOffset',
  })
}

/** Put together from parts: how a whole text is punctuated changes with the version of the locale data. */
function partsOf(format: Intl.DateTimeFormat, atMs: number) {
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]))
  const get = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? ''
  return {
    day: `${get('weekday')} ${get('day')} ${get('month')} ${get('year')}`,
    time: `${get('hour')}:${get('minute')}`,
    offset: get('timeZoneName'),
  }
}
