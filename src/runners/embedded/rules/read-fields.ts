import { badRequest } from './engine-error.ts'

/** A JSON object as it came from a client. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The body as an object. Errors: 400. */
export function asObject(value: unknown): JsonObject {
  if (!isObject(value)) throw badRequest('the request body must be a JSON object')
  return value
}

/** A finite number, or `absent` when the key is missing or null. Errors: 400. */
export function numberField(body: JsonObject, key: string, absent: number, range?: readonly [number, number]): number {
  const value = body[key]
  if (value === undefined || value === null) return absent
  if (typeof value !== 'number' || !Number.isFinite(value)) throw badRequest(`'${key}' must be a number`)
  if (range !== undefined && (value < range[0] || value > range[1])) {
    throw badRequest(`'${key}' must be between ${range[0]} and ${range[1]}, not ${value}`)
  }
  return value
}

/** A whole number, or `absent`. Errors: 400. */
export function wholeField(body: JsonObject, key: string, absent: number): number {
  const value = numberField(body, key, absent)
  if (!Number.isInteger(value)) throw badRequest(`'${key}' must be a whole number, not ${value}`)
  return value
}

/** A boolean, or `absent`. Errors: 400. */
export function booleanField(body: JsonObject, key: string, absent: boolean): boolean {
  const value = body[key]
  if (value === undefined || value === null) return absent
  if (typeof value !== 'boolean') throw badRequest(`'${key}' must be true or false`)
  return value
}

/** Token ids of this model. Errors: 400. */
export function tokenList(value: unknown, key: string, vocabulary: number): number[] {
  if (!Array.isArray(value)) throw badRequest(`'${key}' must be an array of token ids`)
  return value.map((token: unknown) => {
    if (typeof token !== 'number' || !Number.isInteger(token) || token < 0 || token >= vocabulary) {
      throw badRequest(`'${key}' must hold token ids from 0 to ${vocabulary - 1}`)
    }
    return token
  })
}
