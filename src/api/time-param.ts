import { z } from '@hono/zod-openapi'
import { Hal0Error } from '../kernel/errors.ts'

const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

const DAY_CHARS = 'yyyy-mm-dd'.length

/** `Date.parse` takes 30 February for 2 March. */
function isDay(day: string): boolean {
  return new Date(Date.parse(day)).toISOString().startsWith(day)
}

/** A time in a query string → epoch ms. A day stands for its beginning in UTC. */
export function timeParam(description: string) {
  const message = 'expected a time like 2026-01-31T18:00:00Z, or a day like 2026-01-31'
  return z
    .string(message)
    .refine((text) => TIME.test(text) && !Number.isNaN(Date.parse(text)) && isDay(text.slice(0, DAY_CHARS)), message)
    .transform((text) => Date.parse(text))
    .openapi({ type: 'string', format: 'date-time', param: { description } })
}

/** `names`: of the two parameters. Errors: `validation.invalid` naming the first unless it is before the second. */
export function refuseEmptyWindow(
  fromMs: number,
  toMs: number,
  names = ['from', 'to'] as readonly [string, string],
): void {
  if (fromMs < toMs) return
  const [param, other] = names
  const message = `expected a time before \`${other}\``
  throw Hal0Error.of('validation.invalid', `The query string is not valid. ${param}: ${message}.`, {
    param,
    details: { fields: [{ param, message }] },
  })
}
