import { findOwnPackage } from '../files/find-package.ts'
import { findBindingProblem } from '../files/sqlite-binding.ts'
import type { Machine } from './finding.ts'
import { runCommand } from './run-command.ts'

/** The machine this process runs on. */
export function thisMachine(): Machine {
  return {
    root: '/',
    env: process.env,
    nodeVersion: process.versions.node,
    platform: process.platform,
    arch: process.arch,
    run: (program, args) => runCommand(program, args),
    findPackage: findOwnPackage,
    findBindingProblem,
  }
}
