import { join } from 'node:path'
import type { ModelFacts } from '../../contract/model.ts'
import type { PullRequest } from '../../contract/pull.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import type { Hub, HubRepo } from './hub.ts'
import { chooseFiles, type NoChoice } from './rules/choose-files.ts'
import type { HubFile } from './rules/hub-file.ts'
import { resolveStorePath } from './rules/store-path.ts'

const DEFAULT_REVISION = 'main'

/** A file to fetch, and where it belongs. */
export interface PlannedFile {
  readonly file: HubFile
  /** Absolute, in the store. */
  readonly target: string
  /** The same from the store on. */
  readonly relative: string
}

/** What a pull is going to do. */
export interface PullPlan {
  /** In the version that all files come from. */
  readonly at: HubRepo
  /** Parts of the model, first part first. */
  readonly model: readonly [PlannedFile, ...PlannedFile[]]
  readonly projector: PlannedFile | null
  readonly quant: string | null
  readonly license: string | null
}

/** All files of a plan in the order of their download. */
export function filesOf({ model, projector }: PullPlan): readonly PlannedFile[] {
  return projector === null ? model : [...model, projector]
}

/** Which repository? Errors: `validation.invalid`. */
export function chooseRepo(id: string, request: PullRequest, row: ModelFacts | undefined): string {
  const repo = request.repo ?? row?.hf_repo
  if (repo === undefined) {
    throw Hal0Error.of(
      'validation.invalid',
      `the model ${id} names no hf_repo: say which repository to pull from, as org/name`,
      {
        param: 'repo',
        details: { model: id, remedy: `Say where it comes from: \`hal0 model pull ORG/NAME --id ${id}\`.` },
      },
    )
  }
  const checked = resolveStorePath(repo, 'model.gguf')
  if (!checked.ok) throw Hal0Error.of('validation.invalid', checked.error, { param: 'repo', details: { repo } })
  return repo
}

/**
 * Asks the hub and decides what is fetched to where. Rejects with the signal's reason after an abort.
 * Errors: `hub.unreachable`, `validation.invalid` (no such repository, revision or file; nothing that fits; a name that leaves the store).
 */
export async function preparePull(
  hub: Hub,
  store: string,
  repo: string,
  request: PullRequest,
  row: ModelFacts | undefined,
  signal: AbortSignal,
): Promise<PullPlan> {
  const revision = request.revision ?? DEFAULT_REVISION
  if (/^\.{1,2}$/.test(revision)) {
    throw Hal0Error.of('validation.invalid', `"${revision}" is no branch, tag or commit`, { param: 'revision' })
  }
  const { commit, license } = await hub.about({ repo, revision }, signal)
  // All files from one version, also when the branch moves on while we fetch.
  const at: HubRepo = { repo, revision: commit ?? revision }
  const files = await hub.list(at, signal)
  // The row's file name belongs to the row's repository.
  const rowFile = request.quant === undefined && repo === row?.hf_repo ? row.hf_filename : undefined
  const choice = chooseFiles(files, { file: request.file ?? rowFile, quant: request.quant })
  if (!choice.ok) throw noChoice(repo, choice.error)
  const [first, ...rest] = choice.value.model
  await checkAccess(hub, at, first.path, signal)
  const { projector, quant } = choice.value
  const planned = (file: HubFile): PlannedFile => planFile(store, repo, file)
  return {
    at,
    model: [planned(first), ...rest.map(planned)],
    projector: projector === null ? null : planned(projector),
    quant,
    license,
  }
}

/** A gated repository lists its files to everyone; it is better to say so now than in the background. */
async function checkAccess(hub: Hub, at: HubRepo, path: string, signal: AbortSignal): Promise<void> {
  const answer = await hub.open(at, path, { method: 'HEAD' }, signal).catch(() => undefined)
  signal.throwIfAborted()
  if (answer === undefined) return
  const { status, fromHub } = answer.head
  if (fromHub && (status === 401 || status === 403)) throw await hub.refusalOf(at, path, answer)
  answer.close()
}

function planFile(store: string, repo: string, file: HubFile): PlannedFile {
  const relative = resolveStorePath(repo, file.path)
  if (!relative.ok)
    throw Hal0Error.of('validation.invalid', relative.error, { param: 'file', details: { repo, file: file.path } })
  return { file, relative: relative.value, target: join(store, relative.value) }
}

function noChoice(repo: string, { param, reason, choices }: NoChoice): Hal0Error {
  const list = choices.length === 0 ? '' : ` (there: ${choices.join(', ')})`
  const glue = reason.startsWith(':') ? '' : ' '
  return Hal0Error.of('validation.invalid', `${repo}${glue}${reason}${list}`, { param, details: { repo, choices } })
}
