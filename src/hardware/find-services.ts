import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Finding, Machine } from './finding.ts'

/** Quadlet units are understood from this Podman release on. */
const MIN_PODMAN = { major: 4, minor: 4 } as const

/** Is Podman here, and new enough for Quadlet? */
export async function findPodman(machine: Machine): Promise<Finding> {
  const base = {
    name: 'podman',
    required: false,
    gives: 'slots in containers (runtime `quadlet`, still to come in hal0)',
  }
  const result = await machine.run('podman', ['version', '--format', '{{.Client.Version}}'])
  if (result.kind === 'missing') return { ...base, ok: false, found: 'no podman on PATH' }
  if (result.kind === 'failed') return { ...base, ok: false, found: `podman: ${result.reason}` }
  const version = result.stdout.trim()
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const ok = major > MIN_PODMAN.major || (major === MIN_PODMAN.major && minor >= MIN_PODMAN.minor)
  const tooOld = `; Quadlet needs ${MIN_PODMAN.major}.${MIN_PODMAN.minor} or newer`
  return { ...base, ok, found: `Podman ${version}${ok ? '' : tooOld}` }
}

/** Does systemd run this machine? This folder is how systemd itself says so (sd_booted). */
export async function findSystemd(machine: Machine): Promise<Finding> {
  const running = await stat(join(machine.root, 'run/systemd/system')).then(
    (found) => found.isDirectory(),
    () => false,
  )
  return {
    name: 'systemd',
    ok: running,
    required: false,
    found: running ? 'systemd runs this machine' : 'systemd does not run this machine (no /run/systemd/system)',
    gives: 'hal0 as a service, and container slots that systemd restarts (still to come in hal0)',
  }
}

/** Is flock(1) here? The daemon locks its home with it. */
export async function findFlock(machine: Machine): Promise<Finding> {
  const base = { name: 'flock', required: true, gives: 'the lock by which a home has one daemon' }
  const result = await machine.run('flock', ['--version'])
  if (result.kind === 'missing') return { ...base, ok: false, found: 'no flock on PATH; it is part of util-linux' }
  // busybox has it too, without --version.
  return { ...base, ok: true, found: result.kind === 'ok' ? result.stdout.trim() : 'flock' }
}
