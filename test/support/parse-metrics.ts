/** One series: `hal0_inflight{slot="agent"}` with its value. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly help: string
  readonly type: string
  readonly samples: readonly Sample[]
}

const HEAD = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: [''],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
}

/**
 * Reads Prometheus text (0.0.4) and throws at the first thing that is not as the format wants it: HELP and TYPE before the series of a
 * family, each once, no series twice, buckets that grow up to `+Inf` = `_count`, and a newline at the end.
 */
export function parseMetrics(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const families = new Map<string, { help: string; type: string; samples: Sample[] }>()
  const seen = new Set<string>()
  let current: string | undefined
  for (const line of text.split('\n')) {
    if (line === '') continue
    const head = HEAD.exec(line)
    if (head !== null) {
      const [, kind, name = '', rest = ''] = head
      if (kind === 'HELP') {
        if (families.has(name)) throw new Error(`${name} comes twice`)
        families.set(name, { help: rest, type: '', samples: [] })
      } else {
        const family = families.get(name)
        if (family === undefined || family.type !== '' || family.samples.length > 0) throw new Error(`TYPE of ${name}`)
        if (SUFFIXES[rest] === undefined) throw new Error(`type ${rest}`)
        family.type = rest
      }
      current = name
      continue
    }
    const family = families.get(current ?? '')
    const sample = sampleOf(line)
    const suffixes = SUFFIXES[family?.type ?? ''] ?? []
    if (family === undefined || !suffixes.some((suffix) => sample.name === `${current}${suffix}`)) {
      throw new Error(`${line}: does not belong to ${current}`)
    }
    const key = JSON.stringify([
      sample.name,
      Object.entries(sample.labels)
        .map((pair) => pair.join('='))
        .toSorted(),
    ])
    if (seen.has(key)) throw new Error(`${line}: comes twice`)
    seen.add(key)
    family.samples.push(sample)
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkBuckets(name, family.samples)
  return families
}

function sampleOf(line: string): Sample {
  const match = LINE.exec(line)
  if (match === null) throw new Error(`${line}: no series`)
  const [, name = '', labelText = '', valueText = ''] = match
  const value = numberOf(valueText)
  const labels: Record<string, string> = {}
  for (let rest = labelText; rest !== ''; ) {
    const label = LABEL.exec(rest)
    if (label === null) throw new Error(`${line}: labels at ${rest}`)
    const [whole, key = '', escaped = ''] = label
    if (key in labels) throw new Error(`${line}: label ${key} twice`)
    labels[key] = escaped.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char))
    rest = rest.slice(whole.length)
  }
  return { name, labels, value }
}

function numberOf(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY
  if (!/^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(text)) throw new Error(`${text}: no number`)
  return Number(text)
}

/** Per set of the other labels: bounds rise, counts do not fall, and the last is `+Inf` with the count. */
function checkBuckets(name: string, samples: readonly Sample[]): void {
  const groups = new Map<string, Sample[]>()
  for (const sample of samples) {
    const { le: _le, ...rest } = sample.labels
    const key = JSON.stringify(rest)
    groups.set(key, [...(groups.get(key) ?? []), sample])
  }
  for (const [key, group] of groups) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`)
    const bounds = buckets.map(({ labels }) => numberOf(labels['le'] ?? ''))
    const counts = buckets.map(({ value }) => value)
    const isRising = (values: readonly number[]) =>
      values.every((one, at) => at === 0 || one >= (values[at - 1] ?? one))
    const count = group.find((sample) => sample.name === `${name}_count`)?.value
    if (!isRising(bounds) || !isRising(counts) || bounds.at(-1) !== Number.POSITIVE_INFINITY || counts.at(-1) !== count)
      throw new Error(`buckets of ${name} ${key}`)
  }
}
