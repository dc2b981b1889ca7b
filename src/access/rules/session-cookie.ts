import { SESSION_COOKIE } from './sent-credentials.ts'

/** As long as browsers keep one at most: when a session ends is decided here, not there. */
const MAX_AGE_S = 400 * 86_400

/** `Set-Cookie` of a sign-in. `isHttps`: the browser then sends it by https only. Source: SPEC 14. */
export function sessionCookie(token: string, isHttps: boolean): string {
  return `${SESSION_COOKIE}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${MAX_AGE_S}${isHttps ? '; Secure' : ''}`
}

/** `Set-Cookie` that takes it away. */
export function endedCookie(isHttps: boolean): string {
  return `${SESSION_COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0${isHttps ? '; Secure' : ''}`
}
