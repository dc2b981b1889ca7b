/** What a step of a day may do: exactly one of these. */
export const STEP_KINDS = [
  'end',
  'cancel',
  'approve',
  'reject',
  'extend',
  'manual',
  'clear',
  'crash',
  'request',
  'clock_jump_s',
] as const
