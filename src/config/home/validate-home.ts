import { access, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { ConfigMistakeRow, ConfigReport } from '../../contract/config-report.ts'
import { NAME_RULE } from '../../contract/names.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error, messageOf } from '../../kernel/errors.ts'
import { createRunnerRegistry } from '../../runners/build-registry.ts'
import { RUNNER_KEYS } from '../../runners/runner-keys.ts'
import { laneFilePath, lanesFolder } from '../lanes/lane-file.ts'
import { inspectLane } from '../lanes/rules/inspect-lane.ts'
import { findMissingLaneReferences, type LaneOutline, laneOutlineOf } from '../lanes/rules/lane-outline.ts'
import { modelsFilePath, modelsFileSchema } from '../models/models-file.ts'
import { findProfileMistakes } from '../profiles/profile-mistakes.ts'
import { defaultProfileOf } from '../profiles/profiles-file.ts'
import { findGpuClashes } from '../rules/lane-clashes.ts'
import { findNameClashes } from '../rules/names.ts'
import { type DaemonSettings, daemonSettingsPath, daemonSettingsSchema } from '../settings/daemon-settings.ts'
import { inspectSlot } from '../slots/rules/inspect-slot.ts'
import { retiredKeysOf } from '../slots/rules/retired-keys.ts'
import { findSlotClashes, gatewayPortText } from '../slots/rules/slot-clashes.ts'
import { runnerKeyOf } from '../slots/rules/slot-defaults.ts'
import { outlineOf, placeOf, type SlotOutline, tableNames } from '../slots/rules/slot-outline.ts'
import { findMissingReferences } from '../slots/rules/slot-references.ts'
import { listNamedFiles, slotFilePath, slotsFolder } from '../slots/slot-file.ts'
import { codeOf } from '../slots/slot-gate.ts'
import { stacksFilePath, stacksFileSchema } from '../stacks-file.ts'
import { isTable, type Table } from '../toml/rules/table.ts'
import { mistakeRow, readHomeData, readHomeFile } from './home-file.ts'

/** The bit of a file's mode by which everybody reads it. */
const READABLE_BY_OTHERS = 0o004

/** What one part of the home gives to the report. */
interface Findings {
  readonly files: readonly string[]
  readonly mistakes: readonly ConfigMistakeRow[]
  readonly warnings: readonly ConfigMistakeRow[]
}

/**
 * Every settings file of a home and every mistake in it, and between them. One broken file hides nothing of another. `runnerKeys`: the
 * runners of the daemon; absent = those that hal0 knows and those of hal0.toml. Writes nothing, asks no daemon, never rejects.
 * Source: SPEC 2, 3, 18 `config validate`.
 */
export async function validateHome(
  home: Home,
  options: { readonly runnerKeys?: readonly string[] } = {},
): Promise<ConfigReport> {
  const settings = await readHomeFile(daemonSettingsPath(home), daemonSettingsSchema)
  const models = await readHomeFile(modelsFilePath(home), modelsFileSchema)
  const stacks = await readHomeFile(stacksFilePath(home), stacksFileSchema)
  const runners = options.runnerKeys ?? [...new Set([...RUNNER_KEYS, ...tableNames(settings.data ?? {}, 'runners')])]
  const profiles = await findProfileMistakes(home, runners)
  const slots = await findSlotMistakes(home)
  const lanes = await findLaneMistakes(home)
  const known = {
    profiles: profiles.names,
    models: models.data && tableNames(models.data, 'models'),
    runners: settings.data && runners,
  }
  const names = { slots: slots.outlines, lanes: lanes.lanes.map(({ name }) => name), models: known.models ?? [] }
  const between = [
    ...slots.outlines.flatMap((slot) =>
      findMissingReferences(slot, { ...known, profileRunner: runnerOfProfile(slot, profiles.runners) }).map(
        ({ key, message, code }) => mistakeRow(slot.file, key, message, code),
      ),
    ),
    ...lanes.lanes.flatMap((lane) =>
      findMissingLaneReferences(lane, { ...known, profileRunner: profiles.runners.get(lane.profile ?? '') }).map(
        ({ key, message, code }) => mistakeRow(lane.file, key, message, code),
      ),
    ),
    ...findUnservedTypes(slots.outlines, profiles.runners, settings.value?.runners ?? {}),
    ...slots.outlines
      .filter(({ port }) => port !== undefined && port === settings.value?.server.port)
      .map(({ file, port }) => mistakeRow(file, 'port', gatewayPortText(port), 'slot.port_in_use')),
    ...findNameClashes(names).map(({ name, message }) => mistakeRow(home.etc, name, message)),
    ...findSlotClashes(slots.outlines.map(placeOf)).map(({ key, slots: [, slot], message, code }) =>
      mistakeRow(slot.file, key, message, code),
    ),
    ...findGpuClashes(lanes.lanes, slots.outlines).map(({ file, key, message }) => mistakeRow(file, key, message)),
  ]
  const parts = [profiles, slots, lanes]
  const single = [settings, models, stacks]
  return {
    home: home.label,
    files: [
      ...single.filter(({ isThere }) => isThere).map(({ file }) => file),
      ...parts.flatMap(({ files }) => files),
    ].toSorted(),
    mistakes: [...single, ...parts].flatMap(({ mistakes }) => mistakes).concat(between),
    warnings: [
      ...parts.flatMap(({ warnings }) => warnings),
      ...(await findOpenSecrets(settings.file, settings.value)),
      ...(await findMissingModelFiles(models.file, models.data ?? {})),
      ...(stacks.isThere
        ? [mistakeRow(stacks.file, '', 'this version has no stacks yet: the file is checked and not used')]
        : []),
    ],
  }
}

/** A slot whose runner cannot do what its type asks for. */
function findUnservedTypes(
  slots: readonly SlotOutline[],
  runnersOfProfiles: ReadonlyMap<string, string>,
  settings: DaemonSettings['runners'],
): readonly ConfigMistakeRow[] {
  const registry = createRunnerRegistry(settings)
  return slots.flatMap((slot) => {
    const key = runnerKeyOf(slot, runnerOfProfile(slot, runnersOfProfiles))
    const types = registry.find(key)?.types
    // One that there is not is told elsewhere, and one of a later version is no mistake of the file.
    if (types === undefined || types.includes(slot.type)) return []
    const message = `runner "${key}" does not serve type "${slot.type}", only ${types.join(', ')}: set another binary or type`
    return [mistakeRow(slot.file, 'type', message, 'slot.config_error')]
  })
}

function runnerOfProfile(slot: SlotOutline, runners: ReadonlyMap<string, string>): string | undefined {
  return runners.get(slot.profile ?? defaultProfileOf(slot.type))
}

async function findSlotMistakes(home: Home): Promise<Findings & { readonly outlines: readonly SlotOutline[] }> {
  const listed = await listFolder(slotsFolder(home), 'slot')
  const looked = await Promise.all(
    listed.names.map(async (name) => {
      const { file, data, mistakes } = await readHomeData(slotFilePath(home, name))
      const inspection = data === undefined ? undefined : inspectSlot(data, name)
      const findings = inspection === undefined || inspection.ok ? [] : inspection.findings
      return {
        outline: outlineOf(name, file, data ?? {}),
        mistakes: [
          ...mistakes,
          ...findings.map(({ key, message, kind }) => mistakeRow(file, key, message, codeOf(kind, 'disk'))),
        ],
        warnings: retiredKeysOf(data ?? {}).map(({ key, message }) =>
          mistakeRow(file, key, message, 'slot.lru_flag_retired'),
        ),
      }
    }),
  )
  return {
    files: looked.map(({ outline }) => outline.file),
    mistakes: [...listed.mistakes, ...looked.flatMap(({ mistakes }) => mistakes)],
    warnings: looked.flatMap(({ warnings }) => warnings),
    outlines: looked.map(({ outline }) => outline),
  }
}

async function findLaneMistakes(home: Home): Promise<Findings & { readonly lanes: readonly LaneOutline[] }> {
  const listed = await listFolder(lanesFolder(home), 'lane')
  const looked = await Promise.all(
    listed.names.map(async (name) => {
      const { file, data, mistakes } = await readHomeData(laneFilePath(home, name))
      const inspection = data === undefined ? undefined : inspectLane(data, name)
      const findings = inspection === undefined || inspection.ok ? [] : inspection.findings
      return {
        lane: laneOutlineOf(name, file, data ?? {}),
        mistakes: [...mistakes, ...findings.map(({ key, message }) => mistakeRow(file, key, message))],
      }
    }),
  )
  return {
    files: looked.map(({ lane }) => lane.file),
    mistakes: [...listed.mistakes, ...looked.flatMap(({ mistakes }) => mistakes)],
    warnings: [],
    lanes: looked.map(({ lane }) => lane),
  }
}

async function listFolder(folder: string, kind: 'slot' | 'lane') {
  try {
    const { names, unfit } = await listNamedFiles(folder)
    const mistakes = unfit.map((file) =>
      mistakeRow(
        join(folder, file),
        '',
        `${basename(file)} is the name of no ${kind}: expected NAME.toml, NAME being ${NAME_RULE}; rename the file`,
      ),
    )
    return { names, mistakes }
  } catch (cause) {
    const message = cause instanceof Hal0Error ? cause.message : messageOf(cause)
    return { names: [], mistakes: [mistakeRow(folder, '', message)] }
  }
}

/** Secrets of hal0.toml that every user of this machine can read. */
async function findOpenSecrets(
  file: string,
  settings: DaemonSettings | undefined,
): Promise<readonly ConfigMistakeRow[]> {
  const { webhook, smtp } = settings?.notify ?? {}
  const keys = [
    ...(webhook?.secret === undefined ? [] : ['notify.webhook.secret']),
    ...(smtp?.password === undefined ? [] : ['notify.smtp.password']),
  ]
  if (keys.length === 0) return []
  const isOpen = await stat(file).then(
    ({ mode }) => (mode & READABLE_BY_OTHERS) !== 0,
    () => false,
  )
  return isOpen ? keys.map((key) => mistakeRow(file, key, `others can read it: chmod 600 ${file}`)) : []
}

/** A file may be on a disk that is not plugged in: worth knowing, no mistake. */
async function findMissingModelFiles(file: string, data: Table): Promise<readonly ConfigMistakeRow[]> {
  const rows = Object.entries(isTable(data['models']) ? data['models'] : {})
  const named = rows.flatMap(([id, row]) =>
    isTable(row)
      ? ['path', 'files', 'mmproj', 'drafter', 'chat_template'].flatMap((key) =>
          [row[key]].flat().map((path) => ({ key: `models.${id}.${key}`, path })),
        )
      : [],
  )
  const checked = await Promise.all(
    named.map(async ({ key, path }) => {
      if (typeof path !== 'string' || !path.startsWith('/')) return []
      const isThere = await access(path).then(
        () => true,
        () => false,
      )
      return isThere ? [] : [mistakeRow(file, key, `there is no readable ${path} now`, 'slot.model_missing')]
    }),
  )
  return checked.flat()
}
