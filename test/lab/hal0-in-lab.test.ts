import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import build from '../support/build.ts'
import { inLab, installInLab, lab } from './lab.ts'

const isRoot = process.getuid?.() === 0
if (!isRoot) console.warn('skipped: the lab boots systemd in its own namespaces, which needs root')

/** A production install of this checkout on a real systemd + Podman host that has loopback only. */
describe.skipIf(!isRoot)('hal0 on a systemd host', () => {
  const folder = `/root/hal0-test-${randomBytes(4).toString('hex')}`
  let wasUp = false
  const hal0 = (...args: readonly string[]) => inLab(`${folder}/node`, `${folder}/dist/cli/main.js`, ...args)
  /** Processes of this install that are alive inside the lab, as `pid command`. */
  const alive = () =>
    inLab('ps', '-eo', 'pid=,args=')
      .stdout.split('\n')
      .filter((line) => line.includes(folder))

  beforeAll(() => {
    build()
    wasUp = lab('status').stdout.trim() === 'up'
    const { code, stderr } = wasUp ? { code: 0, stderr: '' } : lab('up')
    if (code !== 0) throw new Error(`the lab did not come up: ${stderr}`)
    installInLab(folder)
  })
  afterAll(() => {
    inLab('rm', '-rf', folder)
    if (!wasUp) lab('down')
  })

  it('doctor finds systemd and Podman', () => {
    const { code, stdout, stderr } = hal0('doctor', '--json')
    expect(code, stderr).toBe(0)
    const { findings } = JSON.parse(stdout) as { findings: { name: string; ok: boolean; found: string }[] }
    expect(findings.find(({ name }) => name === 'systemd')).toMatchObject({ ok: true })
    expect(findings.find(({ name }) => name === 'podman')).toMatchObject({
      ok: true,
      found: expect.stringContaining('5.'),
    })
  })

  it('quickstart answers with the embedded engine and leaves no process', () => {
    const { code, stdout, stderr } = hal0(
      'quickstart',
      '--home',
      `${folder}/home`,
      '--port',
      '0',
      '--ask',
      'What is 2+2?',
    )
    expect(code, stderr).toBe(0)
    expect(stdout.trim()).toBe('4')
    expect(alive()).toEqual([])
  })

  it('would see a process that was left', () => {
    // Type=exec: it returns when the program has been executed, not when somebody is about to.
    const unit = ['--quiet', '--unit=hal0-test-left', '--property=Type=exec']
    expect(inLab('systemd-run', ...unit, `${folder}/node`, '-e', 'setInterval(() => 0, 1000)').code).toBe(0)
    try {
      expect(alive()).toHaveLength(1)
    } finally {
      inLab('systemctl', 'stop', 'hal0-test-left')
    }
    expect(alive()).toEqual([])
  })
})
