/**
 * Where a lane stands for this caller, best first: `own` = their active booking; `open` = nobody's; `closed` = another's active booking.
 * Undefined = the slot is no lane's. Source: SPEC 14 "Among the candidates".
 */
export type LaneStanding = 'own' | 'open' | 'closed' | undefined
