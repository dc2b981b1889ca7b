// The shape of a bench line, and how much effort a run makes.

/** Enough for medians that repeat within a few per cent on a quiet machine. */
export const FULL = { rounds: 5, seconds: 5, openStreams: 1000, openSeconds: 15, aborts: 20 }
/** Shows that everything works. */
export const QUICK = { rounds: 1, seconds: 1, openStreams: 300, openSeconds: 4, aborts: 5 }

/**
 * @typedef {object} Effort How long and how often: one set for a full run, one for `--quick`.
 * @property {number} rounds
 * @property {number} seconds of each measurement
 * @property {number} openStreams
 * @property {number} openSeconds
 * @property {number} aborts per round, side and phase
 * @property {number} hal0PerSecond what the throughput line measured through hal0 (an estimate when it did not run)
 */

/**
 * @typedef {object} Row One row of the table.
 * @property {string} name
 * @property {string} key of the rounds' numbers
 * @property {string} unit
 * @property {boolean} [isMoreBetter]
 */

/**
 * @typedef {object} Outcome
 * @property {Record<string, number>[]} direct one entry per round; empty where the line has no such side
 * @property {Record<string, number>[]} hal0
 * @property {Record<string, number>} errors what went wrong, and how often
 * @property {Record<string, number>} [facts]
 * @property {Row[]} rows
 */

/**
 * @typedef {object} Line
 * @property {string} key for `--only`
 * @property {string} title
 * @property {(stage: import('./stage.mjs').Stage, effort: Effort) => Promise<Outcome>} measure
 */
