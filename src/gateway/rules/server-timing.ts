import type { LoadPhases } from '../../contract/slot-row.ts'

/** The phases of a load as a Server-Timing header: `spawn;dur=12, warm;dur=340`, in ms. Source: SPEC 5. */
export function serverTiming(phases: LoadPhases): string {
  return Object.entries(phases)
    .map(([phase, ms]) => `${phase};dur=${ms}`)
    .join(', ')
}
