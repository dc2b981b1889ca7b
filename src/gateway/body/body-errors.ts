import type { IncomingMessage } from 'node:http'
import { Hal0Error } from '../../kernel/errors.ts'
import { MIB, SECOND_MS } from '../../kernel/units.ts'
import type { ScanFault } from '../json/json-scanner.ts'
import { placeOf } from '../json/scan-body.ts'
import { LEAST_SENT_BYTES } from './client-silence.ts'

/** For people: whole MiB from one on. */
export function bytesInWords(sizeBytes: number): string {
  return sizeBytes >= MIB ? `${Math.floor(sizeBytes / MIB)} MiB` : `${sizeBytes} bytes`
}

/** A setting under `[server]` that no single body may exceed. */
type LimitKey = 'json_limit_bytes' | 'form_limit_bytes' | 'body_memory_bytes' | 'spill_limit_bytes'

/** 413. `key`: the setting that says so. */
export function tooLarge(limitBytes: number, key: LimitKey): Hal0Error {
  const limit = bytesInWords(limitBytes)
  const isOnDisk = key === 'spill_limit_bytes'
  const what = isOnDisk ? `What comes before the field "model" of the form is larger than ${limit}` : undefined
  const how = isOnDisk ? 'Put the field "model" before the file' : 'Send a smaller body'
  return Hal0Error.of('request.too_large', what ?? `The request body is larger than ${limit}`, {
    details: {
      limit_bytes: limitBytes,
      remedy: `${how}, or raise [server] ${key} in hal0.toml: \`hal0 config edit hal0\`.`,
    },
  })
}

/** The file for a form could not be made, written or read. `folder`: where. Errors: `internal`. */
export function spoolError(folder: string, cause: Error): Hal0Error {
  return Hal0Error.of('internal', `A form could not be kept in ${folder}: ${cause.message}`, {
    details: {
      folder,
      remedy: `Make room in ${folder}, and let hal0 write there; or put the field "model" before the file: then nothing is kept.`,
    },
  })
}

/** The body is no JSON object. `text`: at least up to the fault, a byte order mark taken off. */
export function badJson({ offset, expected }: ScanFault, text: Buffer): Hal0Error {
  const place = placeOf(text, offset)
  const where = place === undefined ? `byte ${offset}` : `line ${place.line}, column ${place.column}`
  return Hal0Error.of(
    'request.invalid',
    `The request body is not the JSON object it should be: ${where}: expected ${expected}`,
    { details: { ...place, byte_offset: offset, expected } },
  )
}

/** The body is no well-formed form. `offset`: bytes from its start. */
export function badForm(offset: number, expected: string): Hal0Error {
  return Hal0Error.of(
    'request.invalid',
    `The request body is not the multipart/form-data it should be: byte ${offset}: expected ${expected}`,
    { details: { byte_offset: offset, expected } },
  )
}

/** The client began a body and sends no more of it, or next to nothing. Answered with the status of `statusOfBodyError`. */
export function silentClient(limitMs: number): Hal0Error {
  const limitS = limitMs / SECOND_MS
  const message = `Less than ${LEAST_SENT_BYTES} bytes of the request body came in ${limitS} s; its end was expected`
  return Hal0Error.of('request.invalid', message, {
    details: { client_stall_s: limitS, remedy: 'Send the whole body without pauses, then wait for the answer.' },
  })
}

/** The connection was closed in the middle of a body: nobody is there to be told. */
export function brokenOff(): Hal0Error {
  return Hal0Error.of('request.invalid', 'The client closed the connection in the middle of its request body')
}

/** The status where it is not the registry's: 408 for a client that fell silent. Source: RFC 9110 15.5.9. */
export function statusOfBodyError(error: Hal0Error): number | undefined {
  return error.code === 'request.invalid' && error.details?.['client_stall_s'] !== undefined ? 408 : undefined
}

/** A body that is coded in any way would be taken for its text. Source: RFC 9110 8.4. */
export function refusedEncoding(req: IncomingMessage): Hal0Error | undefined {
  const encoding = req.headers['content-encoding']
  if (encoding === undefined || /^\s*(?:identity\s*)?$/i.test(encoding)) return refusedTransfer(req)
  return Hal0Error.of(
    'request.invalid',
    `The request body is compressed (Content-Encoding: ${encoding}); send it uncompressed`,
  )
}

/** Node takes off `chunked` and nothing else. Source: RFC 9112 6.1. */
export function refusedTransfer(req: IncomingMessage): Hal0Error | undefined {
  const transfer = req.headers['transfer-encoding']
  if (transfer === undefined || transfer === 'chunked' || transfer.trim().toLowerCase() === 'chunked') return undefined
  return Hal0Error.of('request.invalid', `The transfer coding "${transfer}" is not understood here; use chunked alone`)
}

/** Content-Length, bytes; undefined = none. Node has refused what is no number. */
export function announcedBytes(req: IncomingMessage): number | undefined {
  const announced = req.headers['content-length']
  return announced === undefined ? undefined : Number(announced)
}
