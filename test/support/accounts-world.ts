import { existsSync } from 'node:fs'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import type { Caller } from '../../src/access/caller.ts'
import { type AccountRooms, createAccounts } from '../../src/access/create-accounts.ts'
import { openUsersMarker } from '../../src/access/users-marker.ts'
import type { NewEvent } from '../../src/contract/events.ts'
import type { Log } from '../../src/kernel/log.ts'
import type { Store } from '../../src/store/open-store.ts'
import type { ManualClock } from './manual-clock.ts'
import { type StoreHome, storeHome } from './store-harness.ts'

export const LOCAL: Caller = { kind: 'local_admin' }
/** Never used for real passwords: cheap enough for a table of tests. */
const CHEAP = { ln: 4, r: 1, p: 1 }

export interface AccountsWorld {
  readonly home: StoreHome
  readonly clock: ManualClock
  readonly events: NewEvent[]
  /** `[facts, message]` of every line. */
  readonly lines: [object, string][]
  readonly firstUsers: string[]
  /** `[user id, why, how many users there were then]`. */
  readonly goneUsers: (readonly [string, string, number])[]
  /** Answers for their bookings; may be another while it runs. */
  onUserGone: () => number
  /** May be changed while it runs. */
  readonly settings: { sessionHours: number; signInAttempts: number; signInWindowS: number; trustedProxies: string[] }
  readonly markerPath: string
  isMarked(): boolean
  /** The accounts of a daemon that starts now, and its store. `isOff`: the store cannot be used. */
  start(options?: { readonly isOff?: boolean }): Promise<{ accounts: AccountRooms; store: Store; db: Database }>
  /** All that was told, as one text. */
  told(): string
  remove(): void
}

export function accountsWorld(): AccountsWorld {
  const home = storeHome()
  const events: NewEvent[] = []
  const lines: [object, string][] = []
  const firstUsers: string[] = []
  const goneUsers: AccountsWorld['goneUsers'] = []
  const settings = { sessionHours: 168, signInAttempts: 3, signInWindowS: 300, trustedProxies: ['10.0.0.1'] }
  const write = (facts: object, message: string): void => void lines.push([facts, message])
  const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log }
  const markerPath = join(home.home.varLib, 'users.defined')
  const opened: AccountRooms[] = []
  const world: AccountsWorld = {
    home,
    clock: home.clock,
    events,
    lines,
    firstUsers,
    goneUsers,
    onUserGone: () => 0,
    settings,
    markerPath,
    isMarked: () => existsSync(markerPath),
    async start({ isOff = false } = {}) {
      const store = home.open()
      const { db } = store
      if (db === undefined) throw new Error('the store of the test did not open')
      const accounts = createAccounts({
        db: isOff ? undefined : db,
        clock: home.clock,
        log,
        publish: (event) => void events.push(event),
        marker: await openUsersMarker(home.home),
        settings: () => settings,
        onFirstUser: (id) => void firstUsers.push(id),
        onUserGone(id, why) {
          goneUsers.push([id, why, accounts.all().length])
          return world.onUserGone()
        },
        passwordCost: CHEAP,
      })
      opened.push(accounts)
      return { accounts, store, db }
    },
    told: () => JSON.stringify([events, lines]),
    remove() {
      for (const accounts of opened) accounts.close()
      home.remove()
    },
  }
  return world
}

/** A request as node gives it. `line`: `METHOD /path`. */
export function fakeRequest(
  line: string,
  headers: Readonly<Record<string, string>> = {},
  remoteAddress = '127.0.0.1',
): IncomingMessage {
  const socket = new Socket()
  Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress })
  const request = new IncomingMessage(socket)
  const [method = '', url = ''] = line.split(' ')
  request.method = method
  request.url = url
  const all = { Host: '127.0.0.1:8080', ...headers }
  request.rawHeaders = Object.entries(all).flat()
  return request
}

/** `hal0_session=…` of a Set-Cookie, as a browser sends it back. */
export function cookieOf(setCookie: string): string {
  return setCookie.split(';')[0] ?? ''
}
