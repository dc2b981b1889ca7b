/**
 * The house, bottom-up: each line is one level. A room may import itself and every room on a lower line, nothing else.
 * docs/architecture.md shows the same picture.
 */
export const levels = [
  ['kernel'],
  ['contract'],
  ['files', 'version.ts'],
  ['hardware', 'runtimes', 'store'],
  ['runners', 'models', 'events', 'access', 'client'],
  ['launch'],
  ['config'],
  ['slots'],
  ['lanes', 'arbiter', 'stacks', 'metrics'],
  ['gateway', 'api'],
  ['daemon-log.ts', 'front-door.ts', 'live-runners.ts', 'fleet.ts', 'simulator.ts'],
  ['timetable.ts', 'access-wiring.ts', 'gateway-wiring.ts'],
  ['management.ts'],
  ['daemon.ts'],
  ['cli'],
]

/** Rooms that later issues will furnish. The check fails once one of them has files, so that this list stays true. */
export const planned = ['stacks']

/** Imports between two rooms of one level that were allowed, `from -> to`, each with its reason. */
export const allowedPairs = new Map()

/** Rooms that may import fewer rooms than their level allows. */
export const narrowed = new Map([
  // The command line is a thin client of the daemon: it must not reach into the engine room.
  ['cli', ['kernel', 'contract', 'files', 'hardware', 'client', 'config', 'version.ts', 'daemon.ts', 'simulator.ts']],
])

/** Packages (and `node:*`) a room may import; a room that is not listed may import any. */
export const packagesOf = new Map([
  ['kernel', []],
  ['contract', ['zod']],
])

/** What a file below a `rules/` folder may import besides other rules. */
export const rulesMayImport = { rooms: ['kernel', 'contract'], packages: ['zod', 'temporal-polyfill'] }
