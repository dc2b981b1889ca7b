import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** The folders of one installation. Source: SPEC 2. */
export interface Home {
  /** hal0.toml, slots/, models.toml. */
  readonly etc: string
  /** state, daemon.json, model store. */
  readonly varLib: string
  /** daemon.log, slots/: the engines' own output. */
  readonly varLog: string
  /** How messages name it: the HAL0_HOME folder, or `/` for the system-wide roots. */
  readonly label: string
}

/** The home under one folder. */
export function homeAt(folder: string): Home {
  const root = resolve(folder)
  return {
    etc: join(root, 'etc/hal0'),
    varLib: join(root, 'var-lib/hal0'),
    varLog: join(root, 'var-log/hal0'),
    label: root,
  }
}

/**
 * HAL0_HOME wins; root without it uses the system's folders; everyone else `~/.hal0`.
 * `personal: true` (`npm start`) never uses the system's folders.
 */
export function findHome(
  env: Readonly<Record<string, string | undefined>>,
  options: { readonly uid: number; readonly personal?: boolean },
): Home {
  const explicit = env['HAL0_HOME']
  if (explicit !== undefined && explicit !== '') return homeAt(explicit)
  if (options.uid === 0 && options.personal !== true) {
    return { etc: '/etc/hal0', varLib: '/var/lib/hal0', varLog: '/var/log/hal0', label: '/' }
  }
  return homeAt(join(homedir(), '.hal0'))
}

/** One folder per slot that ever ran. */
export function slotStatesFolder(home: Home): string {
  return join(home.varLib, 'slots')
}

export function slotStatePath(home: Home, slot: string): string {
  return join(slotStatesFolder(home), slot, 'state.json')
}

/** 0600, beside the state. Source: SPEC 5 "Engine key". */
export function engineKeyPath(home: Home, slot: string): string {
  return join(slotStatesFolder(home), slot, 'engine-key')
}

/** What the slot's engine was started with, 0600: for the daemon that finds it again. Source: SPEC 4 "Adoption". */
export function launchRecordPath(home: Home, slot: string): string {
  return join(slotStatesFolder(home), slot, 'launch.json')
}

/** Source: SPEC 2. */
export function arbiterStatePath(home: Home): string {
  return join(home.varLib, 'gpu_arbiter.json')
}

/** SQLite, WAL. Source: SPEC 2. */
export function databasePath(home: Home): string {
  return join(home.varLib, 'hal0.db')
}

export function slotLogPath(home: Home, slot: string): string {
  return join(home.varLog, 'slots', `${slot}.log`)
}

/** Where pulled models are kept unless `[models] store` says otherwise. */
export function modelStoreFolder(home: Home): string {
  return join(home.varLib, 'models')
}

/** url, pid and start of the running daemon; 0600. */
export function daemonFilePath(home: Home): string {
  return join(home.varLib, 'daemon.json')
}
