import { z } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono'
import { Hal0Error } from '../kernel/errors.ts'
import { MIB } from '../kernel/units.ts'
import type { ApiEnv, ApiRequest } from './api-context.ts'
import { enter } from './gate.ts'
import { findBodyMistake, findBrokenText } from './rules/find-body-mistake.ts'
import { findJsonMistake } from './rules/find-json-mistake.ts'

/** Settings are small; an import of many profiles is the largest body there is. */
export const MAX_BODY_BYTES = MIB

/** How a route describes its body in OpenAPI. `description`: what a schema cannot say. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { required: true, description, content: { 'application/json': { schema } } } as const
}

/**
 * Reads the body before the validators look at it, so that what is wrong with it is told exactly. `isOptional`: an empty body means `{}`.
 * Errors: `request.too_large`, `request.invalid` (content type, no UTF-8, not JSON: with line and column; what no settings can hold), `validation.invalid`
 * (strings that are no text).
 */
export function readJsonBody(
  schema: z.ZodType,
  options: { readonly isOptional?: boolean } = {},
): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const bytes = await readBytes(c)
    // A body may take hours; what it asks for is done by whom its sender is now.
    enter(c)
    const type = c.req.header('content-type')
    const isEmpty = bytes.length === 0
    if (!(isEmpty && options.isOptional === true)) {
      if (type === undefined || !/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) {
        const given = type === undefined ? 'there is none' : `it is ${JSON.stringify(type)}`
        throw Hal0Error.of('request.invalid', `Expected a JSON body with Content-Type: application/json; ${given}.`, {
          param: 'content-type',
        })
      }
      if (isEmpty)
        throw Hal0Error.of('request.invalid', 'The body is empty; expected a JSON object.', { param: 'body' })
    }
    const text = isEmpty ? '{}' : textOf(bytes)
    const mistake = findJsonMistake(text)
    if (mistake !== undefined) {
      const { line, column, found } = mistake
      throw Hal0Error.of(
        'request.invalid',
        `The body is not valid JSON: line ${line}, column ${column}: ${found} is not expected there.`,
        { param: 'body', details: { line, column } },
      )
    }
    const value: unknown = JSON.parse(text)
    const unfit = findBodyMistake(value)
    if (unfit !== undefined) throw Hal0Error.of('request.invalid', `The body ${unfit}.`, { param: 'body' })
    refuseBrokenText(value)
    const { method } = c.req.raw
    const headers = new Headers(c.req.raw.headers)
    headers.set('content-type', 'application/json')
    // What was read is read again by the validators, an absent body as the one it means.
    c.req.raw = new Request(c.req.url, { method, headers, body: text })
    c.set('bodySchema', schema)
    await next()
  }
}

/** Errors: `validation.invalid`, in the form of every other wrong field. */
function refuseBrokenText(body: unknown): void {
  const fields = findBrokenText(body).map((one) => ({ ...one, param: one.param || 'body' }))
  const [first] = fields
  if (first === undefined) return
  const text = fields.map((field) => `${field.param}: ${field.message}`).join('; ')
  throw Hal0Error.of('validation.invalid', `The body is not valid. ${text}.`, {
    param: first.param,
    details: { fields },
  })
}

async function readBytes(c: ApiRequest): Promise<Buffer> {
  const { body } = c.req.raw
  if (body === null) return Buffer.alloc(0)
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  for await (const piece of body) {
    sizeBytes += piece.length
    if (sizeBytes > MAX_BODY_BYTES) {
      throw Hal0Error.of('request.too_large', `The body is larger than ${MAX_BODY_BYTES} bytes.`, {
        details: { limit_bytes: MAX_BODY_BYTES, remedy: 'Send a smaller body.' },
      })
    }
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw Hal0Error.of('request.invalid', 'The body is not UTF-8 text.', { param: 'body' })
  }
}

/** The fields that a schema knows at `path`; empty = it takes any. */
export function knownFields(schema: unknown, path: readonly PropertyKey[]): readonly string[] {
  let node = unwrap(schema)
  for (const step of path) {
    if (node instanceof z.ZodObject) node = unwrap(node.shape[String(step)])
    else if (node instanceof z.ZodRecord) node = unwrap(node.valueType)
    else return []
  }
  return node instanceof z.ZodObject ? Object.keys(node.shape) : []
}

function unwrap(node: unknown): unknown {
  let inner = node
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable || inner instanceof z.ZodDefault) {
    inner = inner.unwrap()
  }
  return inner
}
