import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { BASE_ROW } from '../../test/support/base-row.ts'
import { parseMetrics } from '../../test/support/parse-metrics.ts'
import { createMetrics } from './metrics.ts'

const targetSchema = z.object({ refId: z.string(), expr: z.string().min(1), legendFormat: z.string() })
const panelSchema = z.object({
  id: z.number(),
  title: z.string(),
  type: z.string(),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(targetSchema).default([]),
})
const dashboardSchema = z.object({
  panels: z.array(panelSchema),
  templating: z.object({ list: z.array(z.object({ name: z.string(), type: z.string() })) }),
})

const file = new URL('../../deploy/grafana/hal0.json', import.meta.url)
const text = readFileSync(file, 'utf8')
const { panels, templating } = dashboardSchema.parse(JSON.parse(text))
const targets = panels.flatMap(({ title, targets: ones }) => ones.map((one) => ({ title, ...one })))

/** Metric as a query may name it → its labels. */
async function knownMetrics(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const metrics = createMetrics({ rows: () => [{ ...BASE_ROW, name: 'agent' }] })
  const families = parseMetrics((await metrics.render()).body)
  const known = new Map<string, Set<string>>()
  for (const { samples } of families.values()) {
    for (const { name, labels } of samples) known.set(name, new Set(Object.keys(labels)))
  }
  return known
}

/** `hal0_x{slot=~"a"}` → name and the labels it selects by. */
function selectorsOf(expr: string): { readonly name: string; readonly labels: readonly string[] }[] {
  return [...expr.matchAll(/(hal0_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', inner = '']) => ({
    name,
    labels: [...inner.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  }))
}

it('asks only for metrics and labels that hal0 has', async () => {
  const known = await knownMetrics()
  expect(targets.length).toBeGreaterThan(15)
  for (const { title, expr, legendFormat } of targets) {
    const selectors = selectorsOf(expr)
    expect(selectors.length, title).toBeGreaterThan(0)
    for (const { name, labels } of selectors) {
      expect(known.has(name), `${title}: ${name}`).toBe(true)
      for (const label of labels) expect([...(known.get(name) ?? [])], `${title}: ${name}`).toContain(label)
    }
    const shared = [...(known.get(selectors[0]?.name ?? '') ?? [])]
    const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, inner = '']) => inner.split(/,\s*/))
    const told = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
    for (const label of [...grouped, ...told]) expect(shared, title).toContain(label)
    if (grouped.length > 0) for (const label of told) expect(grouped, title).toContain(label)
  }
})

it('shows every metric that has series without lanes', async () => {
  const family = (name: string) => name.replace(/_(?:bucket|sum|count)$/, '')
  const shown = new Set(targets.flatMap(({ expr }) => selectorsOf(expr).map(({ name }) => family(name))))
  expect([...shown].toSorted()).toEqual([...new Set([...(await knownMetrics()).keys()].map(family))].toSorted())
})

it('has its two variables, and every other one is of Grafana itself', () => {
  expect(templating.list.map(({ name, type }) => [name, type])).toEqual([
    ['datasource', 'datasource'],
    ['slot', 'query'],
  ])
  const used = new Set([...text.matchAll(/\$\{?(\w+)/g)].map(([, name]) => name))
  expect(used).toEqual(new Set(['__all', '__rate_interval', 'datasource', 'slot']))
})

it('puts no panel over another, and gives each its own id', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const places = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, n) => `${x + (n % w)}/${y + Math.floor(n / w)}`),
  )
  expect(new Set(places).size).toBe(places.length)
  for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
})
