import { z } from '@hono/zod-openapi'
import { Hal0Error } from '../kernel/errors.ts'
import { maskKeys } from '../kernel/mask-keys.ts'
import { selectNearest } from '../kernel/nearest-word.ts'
import { knownFields } from './json-body.ts'

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

/** The lane in the path. */
export const laneNameParams = z.object({ name: z.string().openapi({ example: 'gpu0' }) })

/** The reservation in the path. */
export const reservationIdParams = z.object({ id: z.string().openapi({ example: 'r4kq7m2x' }) })

/** The user in the path, by name or id. */
export const userParams = z.object({ user: z.string().openapi({ example: 'ada' }) })

/** The API key in the path, by its id or the prefix that is shown; never the key itself. */
export const keyParams = z.object({
  key: z
    .string()
    .refine((key) => maskKeys(key) === key, 'expected its id or its first characters, not the key itself')
    .openapi({ param: { description: 'Its id or prefix.' } }),
})

/** The profile in the path. */
export const profileNameParams = z.object({ name: z.string().openapi({ example: 'chat' }) })

/** How OpenAPI describes the id of a model in a path. */
export const MODEL_ID_DOCS = {
  example: 'org/name.q8',
  param: { description: 'A `/` inside an id is written `%2F`.' },
} as const

/** The model in the path: a `/` inside an id is written `%2F`. */
export const modelIdParams = z.object({ id: z.string().openapi(MODEL_ID_DOCS) })

/** `true` or `false` in a query string. */
export function flagParam(description: string) {
  return z
    .enum(['true', 'false'], 'expected true or false')
    .transform((text) => text === 'true')
    .openapi({ type: 'boolean', param: { description } })
}

/**
 * What the validators found, as the one error: `param` is the first field, `details.fields` names all. `bodySchema`: of a body, so that
 * an unknown field is told with those that are known. Errors: `validation.invalid`.
 */
export function validationError(where: string, error: z.ZodError, bodySchema?: unknown): Hal0Error {
  const fields = error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({
          param: [...issue.path, key].join('.'),
          message: unknownText(key, bodySchema === undefined ? undefined : knownFields(bodySchema, issue.path)),
        }))
      : [{ param: issue.path.join('.') || where, message: issue.message }],
  )
  const text = fields.map((field) => `${field.param}: ${field.message}`).join('; ')
  const [first] = fields
  return Hal0Error.of('validation.invalid', `The ${where} is not valid. ${text}.`, {
    ...(first === undefined ? {} : { param: first.param }),
    details: { fields },
  })
}

function unknownText(key: string, known: readonly string[] | undefined): string {
  if (known === undefined || known.length === 0) return 'there is no such parameter here'
  const nearest = selectNearest(key, known)
  const hint = nearest === undefined ? '' : `did you mean ${nearest}? `
  return `there is no such field; ${hint}known are ${known.join(', ')}`
}

/** `?limit=` of a list. */
export function limitParam({ max, fallback }: { readonly max: number; readonly fallback: number }) {
  const description = `At most so many; default ${fallback}.`
  return numberParam({ min: 1, max, whole: true, description }).optional()
}
