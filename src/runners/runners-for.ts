import type { RunnerRegistry } from './registry.ts'
import type { EngineRoute, Runner } from './runner.ts'

const NONE: readonly string[] = []

/**
 * Which runners have a route? Their keys, in the registry's order; the same array until the registry has others. For the way of a request: one look-up.
 * Source: SPEC 11 "naming runners that do".
 */
export function createRunnersFor(registry: Pick<RunnerRegistry, 'all'>): (route: EngineRoute) => readonly string[] {
  let known: readonly Runner[] | undefined
  let keys = new Map<EngineRoute, string[]>()
  return (route) => {
    const runners = registry.all()
    if (runners !== known) {
      known = runners
      keys = keysByRoute(runners)
    }
    return keys.get(route) ?? NONE
  }
}

function keysByRoute(runners: readonly Runner[]): Map<EngineRoute, string[]> {
  const keys = new Map<EngineRoute, string[]>()
  for (const { key, routes } of runners) {
    for (const route of routes) {
      const before = keys.get(route)
      if (before === undefined) keys.set(route, [key])
      else before.push(key)
    }
  }
  return keys
}
