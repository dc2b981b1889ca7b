import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPackageFolder } from '../files/find-package.ts'
import { homeAt } from '../files/home.ts'
import { diagnose } from './doctor.ts'
import { findHomeAccess, findNode } from './find-basics.ts'
import type { Finding, Machine } from './finding.ts'
import { findPortHolder, listeningInodes } from './port-holder.ts'
import { type CommandResult, runCommand } from './run-command.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-hardware-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** A made-up machine: files below its root, programs by name. */
async function machineWith(name: string, files: Record<string, string>, programs: Record<string, CommandResult> = {}) {
  const root = join(folder, name)
  for (const [path, text] of Object.entries({ 'etc/hostname': name, ...files })) {
    await mkdir(join(root, path, '..'), { recursive: true })
    await writeFile(join(root, path), text, { mode: 0o755 })
  }
  const machine: Machine = {
    root,
    env: { PATH: join(root, 'usr/bin') },
    nodeVersion: '20.19.0',
    platform: 'linux',
    arch: 'x64',
    run: async (program) => programs[program] ?? { kind: 'missing' },
    findPackage: (wanted) => `/nowhere/${wanted}`,
    findBindingProblem: () => undefined,
  }
  return machine
}

async function findingsOf(machine: Machine, llamaServer?: string): Promise<Record<string, Finding>> {
  const home = homeAt(join(machine.root, 'home'))
  const { findings } = await diagnose(machine, { home, ...(llamaServer === undefined ? {} : { llamaServer }) })
  return Object.fromEntries(findings.map((finding) => [finding.name, finding]))
}

function answer(stdout: string, stderr = ''): CommandResult {
  return { kind: 'ok', stdout, output: stdout + stderr }
}

describe('diagnose', () => {
  it('can run on a bare machine: only the optional things are missing, each with what it would give', async () => {
    const machine = await machineWith('bare', {}, { flock: answer('flock from util-linux 2.38.1\n') })
    const { ok, findings } = await diagnose(machine, { home: homeAt(join(machine.root, 'home')) })
    expect(ok).toBe(true)
    const missing = findings.filter((finding) => !finding.ok).map((finding) => finding.name)
    expect(missing).toEqual(['llama-server', 'gpu', 'nvidia-smi', 'podman', 'systemd', 'memory'])
    expect(findings.every((finding) => finding.gives !== '' && finding.found !== '')).toBe(true)
  })

  it('can run where the history cannot be kept, and says what mends it', async () => {
    const machine = await machineWith('forgetful', {}, { flock: answer('flock') })
    const { ok, findings } = await diagnose(
      { ...machine, findBindingProblem: () => 'no binding; `npm rebuild`' },
      { home: homeAt(join(machine.root, 'home')) },
    )
    expect(ok).toBe(true)
    expect(findings.at(-1)).toMatchObject({ name: 'history', ok: false, found: 'no binding; `npm rebuild`' })
  })

  it('cannot run where a home cannot be locked', async () => {
    const machine = await machineWith('lockless', {})
    const { ok, findings } = await diagnose(machine, { home: homeAt(join(machine.root, 'home')) })
    expect(ok).toBe(false)
    expect(findings.find((finding) => finding.name === 'flock')).toMatchObject({ ok: false, required: true })
  })

  it('finds everything on a full machine', async () => {
    const machine = await machineWith(
      'full',
      {
        'sys/class/drm/card1/device/vendor': '0x1002\n',
        'sys/class/drm/card1/device/mem_info_vram_total': '17163091968\n',
        'sys/class/drm/card1/device/mem_info_vram_used': '1073741824\n',
        'sys/class/accel/accel0/device/vendor': '0x1022\n',
        'sys/class/accel/accel0/device/vbnv': 'RyzenAI-npu4\n',
        'sys/class/drm/card10/device/vendor': '0x8086\n',
        'sys/class/drm/card2/device/vendor': '0x10de\n',
        'sys/class/drm/card0/status': 'no device here\n',
        'sys/class/drm/card1-DP-1/status': 'connected\n',
        'proc/meminfo': 'MemTotal:       33554432 kB\nMemFree: 1 kB\nMemAvailable:   16777216 kB\n',
        'run/systemd/system/x': '',
        'usr/bin/llama-server': '',
      },
      {
        flock: answer('flock from util-linux 2.38.1\n'),
        'nvidia-smi': answer('0, 00000000:21:00.0, NVIDIA RTX A6000, 49140, 48512, 0, 41\n'),
        podman: answer('5.4.2\n'),
        [join(folder, 'full/usr/bin/llama-server')]: answer('', 'version: 6000 (abc)\nbuilt with gcc\n'),
      },
    )
    const found = await findingsOf(machine)
    expect(Object.values(found).filter((finding) => !finding.ok)).toEqual([])
    expect(found['gpu']?.found).toBe(
      'AMD (gpu_index 0), 15.0 GiB of 16.0 GiB free; NVIDIA RTX A6000 (gpu_index 0) at 0000:21:00.0, 47.4 GiB of 48.0 GiB free; ' +
        'Intel (gpu_index 0), memory unknown; NPU RyzenAI-npu4 (/dev/accel/accel0)',
    )
    expect(found['nvidia-smi']?.found).toBe('NVIDIA RTX A6000, 48.0 GiB')
    expect(found['memory']?.found).toBe('16.0 GiB of 32.0 GiB available')
    expect(found['podman']?.found).toBe('Podman 5.4.2')
    expect(found['llama-server']?.found).toMatch(/usr\/bin\/llama-server, version 6000 \(abc\)$/)
  })

  it('names the PCI address behind the device link', async () => {
    const machine = await machineWith('linked', { 'sys/devices/pci/0000:03:00.0/vendor': '0x1002\n' })
    await mkdir(join(machine.root, 'sys/class/drm/card0'), { recursive: true })
    await symlink('../../../devices/pci/0000:03:00.0', join(machine.root, 'sys/class/drm/card0/device'))
    expect((await findingsOf(machine))['gpu']?.found).toBe('AMD (gpu_index 0) at 0000:03:00.0, memory unknown')
  })

  it('tells of a limit on memory, and of sysfs that says nonsense', async () => {
    const machine = await machineWith('limited', {
      'proc/meminfo': 'MemTotal:       33554432 kB\nMemAvailable:   16777216 kB\n',
      'proc/self/cgroup': '0::/\n',
      'sys/fs/cgroup/memory.max': '2147483648\n',
      'sys/fs/cgroup/memory.current': '1610612736\n',
      'sys/fs/cgroup/memory.stat': 'anon 1\ninactive_file 1073741824\n',
      'sys/class/drm/card0/device/vendor': '0x1002\n',
      'sys/class/drm/card0/device/mem_info_vram_total': 'lots\n',
    })
    const found = await findingsOf(machine)
    expect(found['memory']).toMatchObject({
      ok: true,
      found: '1.5 GiB of 2.0 GiB available; a cgroup limits the 32.0 GiB of this machine',
    })
    expect(found['gpu']?.found).toMatch(/^AMD \(gpu_index 0\), memory unknown; .*mem_info_vram_total says "lots"/)
  })

  it('runs nvidia-smi once', async () => {
    const machine = await machineWith('counted', { 'sys/class/drm/card0/device/vendor': '0x10de\n' })
    const calls: string[] = []
    await diagnose(
      {
        ...machine,
        run: async (program) => {
          calls.push(program)
          return { kind: 'missing' }
        },
      },
      { home: homeAt(join(machine.root, 'home')) },
    )
    expect(calls.filter((program) => program === 'nvidia-smi')).toHaveLength(1)
  })

  it('cannot run without any engine; with a llama-server the embedded one is optional', async () => {
    const bare = { ...(await machineWith('no-engine', {})), findPackage: () => undefined }
    const none = await diagnose(bare, { home: homeAt(join(bare.root, 'home')) })
    expect(none.ok).toBe(false)
    const server = await machineWith('own-engine', { 'opt/llama-server': '' })
    const own = { ...server, findPackage: () => undefined }
    const found = await findingsOf(own, join(own.root, 'opt/llama-server'))
    expect(found['embedded-engine']).toMatchObject({ ok: false, required: false })
    expect(found['llama-server']?.ok).toBe(true)
  })

  it('says how to get the CPU engine when only the package around it is there', async () => {
    const base = await machineWith('no-build', {})
    const machine: Machine = { ...base, findPackage: (name) => (name === 'node-llama-cpp' ? '/somewhere' : undefined) }
    const found = (await findingsOf(machine))['embedded-engine']
    expect(found).toMatchObject({ ok: false, required: true })
    expect(found?.found).toMatch(/package @node-llama-cpp\/linux-x64 is not installed: run `npm (ci|install)/)
  })

  it('names a configured llama-server that is gone, and does not fall back to PATH', async () => {
    const machine = await machineWith('configured', { 'usr/bin/llama-server': '' })
    expect((await findingsOf(machine, '/gone/llama-server'))['llama-server']).toMatchObject({
      ok: false,
      found: '/gone/llama-server (from the settings) is missing or not executable',
    })
  })

  it('reports tools that fail or are too old instead of failing', async () => {
    const machine = await machineWith(
      'broken',
      {},
      { 'nvidia-smi': { kind: 'failed', reason: 'no driver' }, podman: answer('4.3.1\n') },
    )
    const found = await findingsOf(machine)
    expect(found['nvidia-smi']).toMatchObject({ ok: false, found: 'nvidia-smi: no driver' })
    expect(found['podman']).toMatchObject({ ok: false, found: 'Podman 4.3.1; Quadlet needs 4.4 or newer' })
  })
})

describe('findNode', () => {
  it.each([
    ['20.18.9', false],
    ['20.19.0', true],
    ['18.20.0', false],
    ['22.0.0', true],
    ['24.1.0', true],
  ])('%s → %s', (nodeVersion, ok) => {
    expect(findNode({ nodeVersion }).ok).toBe(ok)
  })
})

describe('findHomeAccess', () => {
  it('names a file that stands where a folder is needed', async () => {
    await writeFile(join(folder, 'a-file'), '')
    expect(await findHomeAccess(homeAt(join(folder, 'a-file')))).toMatchObject({
      ok: false,
      found: `${join(folder, 'a-file')} is in the way: a folder is needed there`,
    })
  })
})

describe('findPackageFolder', () => {
  it('looks in every folder above, and knows what is not there', () => {
    expect(findPackageFolder('zod', import.meta.dirname)).toMatch(/node_modules\/zod$/)
    expect(findPackageFolder('not-a-package-of-ours', import.meta.dirname)).toBeUndefined()
  })
})

describe('runCommand', () => {
  it('tells missing from failed, with the first line the program said', async () => {
    expect(await runCommand('hal0-no-such-program', [])).toEqual({ kind: 'missing' })
    expect(await runCommand('sh', ['-c', 'echo " no driver" >&2; echo more >&2; exit 3'])).toEqual({
      kind: 'failed',
      reason: 'no driver',
    })
    const garbage = await runCommand('sh', ['-c', 'head -c 100000 /dev/zero | tr "\\0" x; exit 1'])
    expect(garbage).toEqual({ kind: 'failed', reason: 'x'.repeat(200) })
    expect(await runCommand('sh', ['-c', 'echo one; echo two >&2'])).toEqual({
      kind: 'ok',
      stdout: 'one\n',
      output: 'one\ntwo\n',
    })
  })

  it('does not wait for what holds the pipe of a program that hangs', async () => {
    const began = performance.now()
    const pidFile = join(folder, 'pid')
    // The grandchild outlives the kill and has the same stdout.
    const result = await runCommand('sh', ['-c', `sleep 20 & echo $! > '${pidFile}'; wait`], 1_000)
    process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGKILL')
    expect(result).toEqual({ kind: 'failed', reason: 'gave no answer within 1 s' })
    expect(performance.now() - began).toBeLessThan(15_000)
  })

  it('ends a program that hangs', async () => {
    expect(await runCommand('sleep', ['30'], 200)).toEqual({ kind: 'failed', reason: 'gave no answer within 0.2 s' })
  })
})

describe('findPortHolder', () => {
  it('reads listening inodes of one port only', () => {
    const table = [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
      '   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0',
      '   1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0',
      '   2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1 0',
      '',
    ].join('\n')
    expect(listeningInodes(table, 8080)).toEqual(['111'])
    expect(listeningInodes('', 8080)).toEqual([])
  })

  it.each(['127.0.0.1', '::1'])('finds another process that listens on %s', async (host) => {
    const script = `const s=require('net').createServer().listen(0,'${host}',()=>console.log(s.address().port))`
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      const port = await new Promise<number>((resolve) => child.stdout.once('data', (data) => resolve(Number(data))))
      expect(await findPortHolder(port)).toEqual({ pid: child.pid, program: 'node' })
    } finally {
      child.kill('SIGKILL')
    }
  })

  it('knows of nobody on a free port', async () => {
    const server = createServer()
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        const address = server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
    await new Promise((resolve) => server.close(resolve))
    expect(await findPortHolder(port)).toBeUndefined()
  })
})
