// The machine: what it is, which cores go to whom, and how many files a process may hold.
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'

const GIB = 1024 ** 3
const WANTED_FILES = 16_384

export function machine() {
  const [cpu] = cpus()
  return {
    cores: cpus().length,
    cpu: cpu?.model ?? 'unknown',
    memory_gib: Math.round(totalmem() / GIB),
    node: process.version,
    kernel: execFileSync('uname', ['-sr'], { encoding: 'utf8' }).trim(),
  }
}

/** Whether a program is on PATH. @param {string} program */
export function hasProgram(program) {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]).status === 0
}

/** The cores this process may use, e.g. [0, 1]. */
function allowedCores() {
  const list = /^Cpus_allowed_list:\s+(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? ''
  return list.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, i) => from + i)
  })
}

/**
 * The words to put before a command so that it runs on its cores: the proxy under test alone on one, all else on the others.
 * Empty where the machine does not allow it. `others` for the client and the engine.
 */
export function pinning() {
  const [first, ...rest] = allowedCores()
  if (first === undefined || rest.length === 0 || !hasProgram('taskset'))
    return { proxy: [], others: [], isPinned: false }
  return { proxy: ['taskset', '-c', String(first)], others: ['taskset', '-c', rest.join(',')], isPinned: true }
}

/** Open files that a child of ours may be given: our hard limit, as far as we want it. */
export function fileLimit() {
  const hard = spawnSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).stdout.trim()
  return hard === 'unlimited' ? WANTED_FILES : Math.min(WANTED_FILES, Number(hard))
}

/** A command with that many files. @param {string[]} command @returns {[string, string[]]} */
export function withFiles(command) {
  return ['sh', ['-c', `ulimit -n ${fileLimit()} || exit 1; exec "$@"`, 'sh', ...command]]
}

/** KiB of resident memory of these processes together. @param {readonly number[]} pids */
export function residentKib(pids) {
  return pids.reduce(
    (sum, pid) => sum + Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]),
    0,
  )
}

/** The direct children of a process. @param {number} pid @returns {number[]} */
export function childrenOf(pid) {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}
