import type { Family } from './parse-metrics.ts'

/** `slot=agent,state=ready` → value, of one family of metrics; of a histogram its `suffix`. */
export function seriesOf(
  families: ReadonlyMap<string, Family>,
  name: string,
  suffix: '' | '_count' | '_sum' = '',
): Record<string, number> {
  const samples = families.get(name)?.samples.filter((sample) => sample.name === name + suffix) ?? []
  const text = (labels: object) =>
    Object.entries(labels)
      .map(([key, value]) => `${key}=${String(value)}`)
      .join(',')
  return Object.fromEntries(samples.map(({ labels, value }) => [text(labels), value]))
}
