import { readFile } from 'node:fs/promises'
import { daemonFileSchema } from '../contract/daemon-file.ts'
import { daemonFilePath, type Home } from '../files/home.ts'
import { errnoOf, isNotFound, messageOf } from '../kernel/errors.ts'
import { parseJson } from '../kernel/read-json.ts'

/** Where the daemon is, or why nobody knows. `message` is one sentence for people. Source: SPEC 2, 18. */
export type DaemonLookup =
  | { readonly kind: 'found'; readonly url: string; readonly from: 'HAL0_API_URL' }
  | {
      readonly kind: 'found'
      readonly url: string
      readonly from: 'daemon.json'
      readonly pid: number
      /** For this URL only; undefined = the daemon wrote none. */
      readonly localKey: string | undefined
    }
  | {
      readonly kind: 'none'
      readonly reason: 'bad_url' | 'no_file' | 'bad_file' | 'not_running'
      readonly message: string
    }

/** HAL0_API_URL wins; else `daemon.json` of the home, provided that its process is alive. Never throws, asks nobody over the network. */
export async function findDaemon(options: {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: Home
}): Promise<DaemonLookup> {
  const fromEnv = options.env['HAL0_API_URL']
  if (fromEnv !== undefined && fromEnv !== '') {
    const url = normalUrl(fromEnv)
    if (url?.endsWith('/v1') === true) {
      const base = url.slice(0, -'/v1'.length)
      return none(
        'bad_url',
        `HAL0_API_URL is ${JSON.stringify(fromEnv)}; leave /v1 out, which is for other clients: ${base}.`,
      )
    }
    if (url !== undefined) return { kind: 'found', url, from: 'HAL0_API_URL' }
    return none('bad_url', `HAL0_API_URL is ${JSON.stringify(fromEnv)}; expected a URL like http://127.0.0.1:8080.`)
  }
  const path = daemonFilePath(options.home)
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (thrown) {
    if (isNotFound(thrown))
      return none('no_file', `No hal0 daemon runs in ${folderText(options.home)} (there is no ${path}).`)
    return none('bad_file', `${path} cannot be read: ${messageOf(thrown)}.`)
  }
  const file = daemonFileSchema.safeParse(parseJson(text))
  const url = file.success ? normalUrl(file.data.url) : undefined
  if (!file.success || url === undefined) {
    return none('bad_file', `${path} is not a daemon file; expected {"url", "pid", "started_at"}.`)
  }
  if (!isAlive(file.data.pid)) {
    return none('not_running', `The hal0 daemon of ${folderText(options.home)} (pid ${file.data.pid}) is gone.`)
  }
  return { kind: 'found', url, from: 'daemon.json', pid: file.data.pid, localKey: file.data.local_key }
}

/** `/` would read as if everything were meant. */
function folderText(home: Home): string {
  return home.label === '/' ? "the system's folders" : home.label
}

function none(reason: 'bad_url' | 'no_file' | 'bad_file' | 'not_running', message: string): DaemonLookup {
  return { kind: 'none', reason, message }
}

function normalUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return undefined
  return url.origin + url.pathname.replace(/\/+$/, '')
}

/** EPERM: it lives, as another user's process. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return errnoOf(thrown) === 'EPERM'
  }
}
