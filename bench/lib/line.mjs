// The shape of a bench line, and how much effort a run makes.

/** Medians of five where time is measured; about four and a half minutes in all. */
export const FULL = {
  rounds: 5,
  seconds: 1,
  pacedSeconds: 1.5,
  warmSeconds: 6,
  pacedWarmSeconds: 3,
  memoryRounds: 3,
  uploadRounds: 1,
  openStreams: [1000, 5000],
  stalledClients: 100,
  abortRounds: 2,
  aborts: 10,
  schedulerRounds: 3,
}
/** Shows that everything works. */
export const QUICK = {
  ...FULL,
  rounds: 1,
  warmSeconds: 1,
  pacedWarmSeconds: 1,
  pacedSeconds: 1,
  memoryRounds: 1,
  openStreams: [1000],
  abortRounds: 1,
  aborts: 3,
  schedulerRounds: 1,
}

/**
 * @typedef {object} Effort How long and how often: one set for a full run, one for `--quick`.
 * @property {number} rounds
 * @property {number} seconds of each measurement that goes as fast as it can
 * @property {number} pacedSeconds of each measurement at a fixed rate
 * @property {number} warmSeconds before the first round
 * @property {number} pacedWarmSeconds the same where a rate is fixed
 * @property {number} memoryRounds each on processes of its own
 * @property {number} uploadRounds likewise
 * @property {number[]} openStreams
 * @property {number} stalledClients
 * @property {number} abortRounds
 * @property {number} aborts per round, side and phase
 * @property {number} schedulerRounds
 */

/**
 * @typedef {object} Outcome
 * @property {import('./work.mjs').Rounds} sides the numbers of each round, by side
 * @property {Record<string, number>} errors what went wrong, and how often
 * @property {Record<string, number>} [facts]
 * @property {string} [skipped] why it was not measured
 */

/**
 * @typedef {object} Bench What a line may use.
 * @property {() => Promise<import('./stage.mjs').Stage>} stage what runs, started if nothing does
 * @property {() => Promise<import('./stage.mjs').Stage>} fresh ends what runs, and starts everything anew
 * @property {() => Promise<void>} end ends what runs
 * @property {import('./stage.mjs').OnStopper} onStopper for what a line starts by itself
 * @property {string} dist
 */

/**
 * @typedef {object} Line
 * @property {string} key for `--only`
 * @property {string} title
 * @property {(effort: Effort, bench: Bench) => Promise<Outcome>} measure
 */
