import { z } from '@hono/zod-openapi'
import { Hal0Error } from '../kernel/errors.ts'

/** A number in a query string, in plain decimal notation; `min ≤ n ≤ max`. */
export function numberParam(range: {
  readonly min: number
  readonly max: number
  readonly whole?: boolean
  readonly description: string
}) {
  const kind = range.whole === true ? 'a whole number' : 'a number'
  const shape = range.whole === true ? /^\d{1,9}$/ : /^\d{1,9}(?:\.\d{1,3})?$/
  const message = `expected ${kind} from ${range.min} to ${range.max}`
  return z
    .string(message)
    .refine((text) => shape.test(text) && Number(text) >= range.min && Number(text) <= range.max, message)
    .transform(Number)
    .openapi({
      type: range.whole === true ? 'integer' : 'number',
      minimum: range.min,
      maximum: range.max,
      param: { description: range.description },
    })
}

/** The slot in the path. Whether it exists is the route's business: a name that cannot exist is not found either. */
export const slotNameParams = z.object({ name: z.string().openapi({ example: 'agent' }) })

/** What the validators found, as the one error: `param` is the first field, `details.fields` names all. Errors: `validation.invalid`. */
export function validationError(where: string, error: z.ZodError): Hal0Error {
  const fields = error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ param: key, message: 'there is no such parameter here' }))
      : [{ param: issue.path.join('.') || where, message: issue.message }],
  )
  const text = fields.map((field) => `${field.param}: ${field.message}`).join('; ')
  const [first] = fields
  return Hal0Error.of('validation.invalid', `The ${where} is not valid. ${text}.`, {
    ...(first === undefined ? {} : { param: first.param }),
    details: { fields },
  })
}
