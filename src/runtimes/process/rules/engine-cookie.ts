/**
 * The variable by which an engine, and everything it starts, is found again: children inherit it, also those that leave the
 * process group or outlive the daemon. It is no secret.
 */
export const COOKIE_ENV = 'HAL0_ENGINE'

export interface EngineCookie {
  readonly homeId: string
  readonly slot: string
  readonly attemptId: string
}

/** Whether a home id can be part of a cookie: it must end where the slot begins. */
export function isHomeId(text: string): boolean {
  return text !== '' && !text.includes(':') && !text.includes('\0')
}

export function formatCookie(cookie: EngineCookie): string {
  return `${cookie.homeId}:${cookie.slot}:${cookie.attemptId}`
}

/** undefined = not a cookie of hal0. */
export function parseCookie(value: string): EngineCookie | undefined {
  const [homeId, slot, ...rest] = value.split(':')
  const attemptId = rest.join(':')
  return homeId && slot && attemptId ? { homeId, slot, attemptId } : undefined
}
