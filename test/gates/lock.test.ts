import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

/** What this test reads of an entry in package-lock.json. */
interface LockEntry {
  readonly version?: string
  readonly resolved?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly devOptional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Readonly<Record<string, LockEntry>>
}
const entries = Object.entries(lock.packages)
const gpuBuild = /@node-llama-cpp\/.*(cuda|vulkan)/
const maxProductionMb = 250

/** The entries of a lock that install a GPU build of the embedded engine, or would let npm add one. */
function gpuBuildsIn(packages: readonly (readonly [string, LockEntry])[]): readonly string[] {
  return packages.flatMap(([path, entry]) => [
    ...(gpuBuild.test(path) ? [path] : []),
    ...Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
      .filter((name) => gpuBuild.test(name))
      .map((name) => `${path} -> ${name}`),
  ])
}

/** Bytes on disk of a package without the packages nested in it, which the lock lists by themselves. */
function diskBytes(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.name !== 'node_modules')
    .map((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? diskBytes(path) : lstatSync(path).blocks * 512
    })
    .reduce((sum, bytes) => sum + bytes, 0)
}

describe('package-lock.json', () => {
  it('names no CUDA or Vulkan build of the embedded engine: else run `node scripts/prune-lock.mjs`', () => {
    expect(entries.length).toBeGreaterThan(50)
    expect(gpuBuildsIn(entries)).toEqual([])
  })

  it('would be caught naming one', () => {
    const name = '@node-llama-cpp/linux-x64-cuda'
    expect(gpuBuildsIn([[`node_modules/${name}`, {}]])).toHaveLength(1)
    expect(gpuBuildsIn([['node_modules/node-llama-cpp', { optionalDependencies: { [name]: '3.21.1' } }]])).toHaveLength(
      1,
    )
  })

  it('pins the embedded engine and keeps its CPU build', () => {
    expect(lock.packages['node_modules/node-llama-cpp']?.version).toBe('3.21.1')
    expect(lock.packages['']?.dependencies?.['node-llama-cpp']).toBe('3.21.1')
    expect(lock.packages['node_modules/@node-llama-cpp/linux-x64']?.version).toBe('3.21.1')
  })

  it('pins every direct dependency to one version', () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
      devDependencies: Record<string, string>
    }
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+/.test(version),
    )
    expect(loose).toEqual([])
  })

  it('names no registry host: `.npmrc` sees to it', () => {
    expect(
      entries.filter(([, entry]) => entry.resolved !== undefined).map(([path, entry]) => `${path}: ${entry.resolved}`),
    ).toEqual([])
  })
})

describe('a production install', () => {
  const production = entries.filter(([path, entry]) => path !== '' && entry.dev !== true)
  const present = production.filter(([path]) => existsSync(join(root, path)))

  it('is what node_modules holds: else run `npm ci`', () => {
    const missing = production.filter(
      ([path, entry]) => entry.optional !== true && entry.devOptional !== true && !existsSync(join(root, path)),
    )
    expect(missing.map(([path]) => path)).toEqual([])
    expect(present.length).toBeGreaterThan(20)
  })

  it(`stays under ${maxProductionMb} MB on disk`, () => {
    const sizes = present
      .map(([path]) => ({ path, mb: diskBytes(join(root, path)) / 1e6 }))
      .toSorted((a, b) => b.mb - a.mb)
    const totalMb = sizes.reduce((sum, { mb }) => sum + mb, 0)
    const largest = sizes.slice(0, 5).map(({ path, mb }) => `${path} ${mb.toFixed(1)}`)
    expect(totalMb, `the largest: ${largest.join(', ')}`).toBeLessThan(maxProductionMb)
    expect(totalMb, 'nothing was measured').toBeGreaterThan(10)
  })
})
