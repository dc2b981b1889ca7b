import { join } from 'node:path'
import { z } from 'zod'
import { writeFileWhole } from '../../files/atomic-write.ts'
import type { Home } from '../../files/home.ts'
import { readConfigText } from '../toml/config-text.ts'

const names = z.array(z.string()).default([])
const recordSchema = z.object({
  /** Seed slots whose files hal0 wrote. */
  seeded: names,
  /** Deleted by a person: only an explicit reseed brings them back. */
  tombstones: names,
  /** The first seeding of the home has not come to these yet. */
  pending: names,
})

/** `var-lib/hal0/seeds.json`: what became of the seed slots in this home. Names in the order in which they came. */
export type SeedRecord = z.output<typeof recordSchema>

const NONE: SeedRecord = { seeded: [], tombstones: [], pending: [] }

function seedRecordPath(home: Home): string {
  return join(home.varLib, 'seeds.json')
}

/** Undefined = hal0 has not looked at this home yet. A record that cannot be understood knows of nothing, but it is there. */
export async function readSeedRecord(home: Home): Promise<SeedRecord | undefined> {
  const text = await readConfigText(seedRecordPath(home))
  if (text === 'absent') return undefined
  return (text.ok ? parseRecord(text.value) : undefined) ?? NONE
}

/** Replaces the record by what `change` makes of it. The caller holds the write lock. */
export async function updateSeedRecord(home: Home, change: (record: SeedRecord) => SeedRecord): Promise<void> {
  const record = change((await readSeedRecord(home)) ?? NONE)
  await writeFileWhole(seedRecordPath(home), `${JSON.stringify(record, null, 2)}\n`)
}

/** The slot was deleted by a person, and stays away. The caller holds the write lock (`withWriteLock`). Source: SPEC 3. */
export async function addTombstone(home: Home, name: string): Promise<void> {
  await updateSeedRecord(home, (record) => ({
    seeded: without(record.seeded, name),
    tombstones: [...without(record.tombstones, name), name],
    pending: without(record.pending, name),
  }))
}

export function without(list: readonly string[], name: string): string[] {
  return list.filter((other) => other !== name)
}

function parseRecord(text: string): SeedRecord | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
