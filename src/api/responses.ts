import { z } from '@hono/zod-openapi'
import { errorBodySchema } from '../contract/error-body.ts'

/** How routes describe their answers in OpenAPI; the schema is the contract's own. */
export function jsonAnswer<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, content: { 'application/json': { schema } } } as const
}

/** Every route answers errors in this one shape. Source: SPEC 16. */
export const errorResponse = {
  default: jsonAnswer(errorBodySchema, 'The one error body: `code`, `message`, `param`, `details.remedy`.'),
} as const

/** The data of events, as text: OpenAPI 3.1 has no notation for a stream of them. */
export const eventStream = { schema: z.string() } as const

/** The answer to a deletion: there is nothing left to show. */
export const goneAnswer = { description: 'It is gone.' } as const
