import { createClient, type Hal0Client } from '../client/client.ts'
import type { DaemonLookup } from '../client/find-daemon.ts'
import { UsageError } from './cli-error.ts'

/** What a header can carry. */
const KEY_PATTERN = /^[\x21-\x7e]+$/

/**
 * The client of a daemon that was found, with the key to send: HAL0_API_KEY, else the daemon's own key of this machine, which only the URL
 * beside it in daemon.json is ever sent. Errors: UsageError (HAL0_API_KEY cannot be a key; it is not repeated). Source: SPEC 14.
 */
export function clientOf(
  lookup: Extract<DaemonLookup, { readonly kind: 'found' }>,
  env: Readonly<Record<string, string | undefined>>,
): Hal0Client {
  const localKey = lookup.from === 'daemon.json' ? lookup.localKey : undefined
  const key = keyOfEnv(env) ?? localKey
  return createClient({ baseUrl: lookup.url, key })
}

/** Undefined = it is not set, or blank. */
function keyOfEnv(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const key = env['HAL0_API_KEY']?.trim() ?? ''
  if (key === '') return undefined
  if (KEY_PATTERN.test(key)) return key
  throw new UsageError(
    'HAL0_API_KEY is no key: it holds spaces, line ends or letters that no key has.',
    'Set it to one key, as `hal0 key create` printed it.',
  )
}
