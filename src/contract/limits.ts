/** How long requests in flight may still take when their slot is stopped and nobody says otherwise. Source: SPEC 4. */
export const DEFAULT_DRAIN_S = 30
/** The longest time anyone may say. */
export const MAX_DRAIN_S = 3_600
