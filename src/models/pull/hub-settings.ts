import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Hal0Error } from '../../kernel/errors.ts'

/** Where models come from when nothing is set. */
const DEFAULT_ENDPOINT = 'https://huggingface.co'

/** The hub of an environment. */
export interface HubSettings {
  /** Without a slash at its end. */
  readonly endpoint: string
  /** Read anew each time, so that a login counts without a restart. Undefined = none. */
  readonly token: () => Promise<string | undefined>
}

/**
 * HF_ENDPOINT; HF_TOKEN, else the file at HF_TOKEN_PATH, else the one in HF_HOME (where the hub's own tools keep it).
 * Errors: `config.invalid` (HF_ENDPOINT is no http address).
 */
export function hubSettings(env: Readonly<Record<string, string | undefined>>): HubSettings {
  const endpoint = (env['HF_ENDPOINT']?.trim() || DEFAULT_ENDPOINT).replace(/\/+$/, '')
  if (!/^https?:\/\/[^/]/i.test(endpoint) || !URL.canParse(endpoint)) {
    throw Hal0Error.of(
      'config.invalid',
      `HF_ENDPOINT is "${endpoint}": expected an address that starts with https:// or http://`,
      {
        details: {
          remedy:
            'Correct or unset HF_ENDPOINT in the environment of the daemon and start it again, or set hub_endpoint under [models] in hal0.toml, which counts at once.',
        },
      },
    )
  }
  const cache = env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const file = env['HF_TOKEN_PATH'] || join(env['HF_HOME'] || join(cache, 'huggingface'), 'token')
  return {
    endpoint,
    token: async () => {
      const token = env['HF_TOKEN']?.trim() || (await readFile(file, 'utf8').catch(() => '')).trim()
      // Anything else could not stand in a header.
      return /^[\x21-\x7E]+$/.test(token) ? token : undefined
    },
  }
}
