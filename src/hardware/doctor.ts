import type { Home } from '../files/home.ts'
import { systemClock } from '../kernel/clock.ts'
import { findHistory, findHomeAccess, findNode, findSystem } from './find-basics.ts'
import { findEmbeddedEngine, findLlamaServer } from './find-engines.ts'
import { findGpu, findMemory, findNvidiaSmi } from './find-hardware.ts'
import { findFlock, findPodman, findSystemd } from './find-services.ts'
import type { Finding, Machine } from './finding.ts'
import { createHardwareSources } from './hardware-sources.ts'
import { readHardware } from './read-hardware.ts'
import type { CommandResult, RunCommand } from './run-command.ts'

/** What doctor concludes: all findings in a fixed order, and whether hal0 can run here. */
export interface Diagnosis {
  /** True when every required finding is ok. */
  readonly ok: boolean
  readonly findings: readonly Finding[]
}

/**
 * What does this machine have, and what would each missing thing give? Needs no daemon, changes nothing, never rejects;
 * readers run side by side, each bounded by the 3 s of an external command.
 * `llamaServer` is the path from the settings when one is configured. Source: SPEC 18, README "hal0 doctor".
 */
export async function diagnose(
  machine: Machine,
  options: { readonly home: Home; readonly llamaServer?: string },
): Promise<Diagnosis> {
  const once = { ...machine, run: runOnce(machine.run) }
  const [home, flock, llamaServer, hardware, nvidiaSmi, podman, systemd, memory] = await Promise.all([
    findHomeAccess(options.home),
    findFlock(machine),
    findLlamaServer(machine, options.llamaServer),
    readHardware(createHardwareSources(once, systemClock)),
    findNvidiaSmi(once),
    findPodman(machine),
    findSystemd(machine),
    findMemory(machine),
  ])
  const embedded = findEmbeddedEngine(machine, { onlyEngine: !llamaServer.ok })
  const node = findNode(machine)
  const findings = [
    node,
    findSystem(machine),
    home,
    flock,
    embedded,
    llamaServer,
    findGpu(hardware),
    nvidiaSmi,
    podman,
    systemd,
    memory,
    findHistory(machine),
  ]
  return { ok: findings.every((finding) => finding.ok || !finding.required), findings }
}

/** Two findings need the answer of nvidia-smi, which may take seconds. */
function runOnce(run: RunCommand): RunCommand {
  const results = new Map<string, Promise<CommandResult>>()
  return (program, args) => {
    const key = JSON.stringify([program, ...args])
    const result = results.get(key) ?? run(program, args)
    results.set(key, result)
    return result
  }
}
