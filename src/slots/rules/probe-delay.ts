/** How long until the next look at a warming engine? Grows by half each time, up to the limit of its age. Source: SPEC 5 "Probe". */
export function chooseProbeDelay(input: {
  readonly previousMs: number
  readonly ageMs: number
  readonly earlyForMs: number
  readonly earlyMaxMs: number
  readonly lateMs: number
}): number {
  if (input.ageMs >= input.earlyForMs) return input.lateMs
  return Math.min(input.previousMs * 1.5, input.earlyMaxMs)
}
