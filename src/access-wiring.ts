import { type AccountRooms, type AccountsDeps, createAccounts } from './access/create-accounts.ts'
import { createGuard } from './access/create-guard.ts'
import type { Guard, OpenDoor } from './access/guard.ts'
import { createLocalKey, type LocalKey } from './access/local-key.ts'
import { isLoopbackHost } from './access/rules/authority.ts'
import { decideBind } from './access/rules/decide-bind.ts'
import { openUsersMarker } from './access/users-marker.ts'
import type { LiveSettings } from './config/settings/live-settings.ts'
import type { EventBus } from './events/bus.ts'
import type { Home } from './files/home.ts'
import type { Clock } from './kernel/clock.ts'
import { Hal0Error } from './kernel/errors.ts'
import type { Log } from './kernel/log.ts'
import type { Store } from './store/open-store.ts'

/** Who comes in. */
export interface Access {
  readonly accounts: AccountRooms
  readonly guard: Guard
  readonly openDoor: OpenDoor
  /** For daemon.json. */
  readonly localKey: LocalKey
}

export interface AccessWiring {
  readonly home: Home
  readonly store: Store
  readonly live: LiveSettings
  readonly bus: EventBus
  readonly clock: Clock
  readonly log: Log
  /** Where the daemon is to listen. */
  readonly host: string
  /** `--insecure`. */
  readonly insecure: boolean
  readonly onFirstUser: (userId: string) => void
  readonly onUserGone: AccountsDeps['onUserGone']
}

/** Reads who there is, before anything else is opened. Errors: `config.invalid` for an address that may not be bound. Source: SPEC 14. */
export async function wireAccess(wiring: AccessWiring): Promise<Access> {
  const { home, store, live, bus, clock, log, host, insecure, onFirstUser, onUserGone } = wiring
  const server = () => live.settings().server
  const accounts = createAccounts({
    ...{ db: store.db, clock, log, onFirstUser, onUserGone },
    publish: (event) => bus.publish(event),
    marker: await openUsersMarker(home),
    settings: () => {
      const { session_hours, sign_in_attempts, sign_in_window_s } = live.settings().security
      return {
        sessionHours: session_hours,
        signInAttempts: sign_in_attempts,
        signInWindowS: sign_in_window_s,
        trustedProxies: server().trusted_proxies,
      }
    },
  })
  const bind = decideBind(host, { hasUsers: accounts.mode !== 'open', insecure })
  if (bind.kind === 'refused') {
    accounts.close()
    throw Hal0Error.of('config.invalid', bind.message, { param: 'server.host', details: { remedy: bind.remedy } })
  }
  if (bind.warning !== undefined) log.warn({ host }, bind.warning)
  const localKey = createLocalKey()
  const doors = createGuard({
    ...{ credentials: accounts, localKey },
    // On this machine alone its own rules of open mode hold, whatever was insisted on.
    insecure: insecure && !isLoopbackHost(host.includes(':') ? `[${host}]` : host),
    allowedHosts: () => server().allowed_hosts,
    trustedProxies: () => server().trusted_proxies,
  })
  return { accounts, localKey, ...doors }
}
