import type { ModelFacts } from '../../contract/model.ts'
import { Hal0Error, toHal0Error } from '../../kernel/errors.ts'
import { type DownloadHost, FileDownload } from './file-download.ts'
import { filesOf, type PlannedFile, type PullPlan } from './prepare-pull.ts'
import type { HubFile } from './rules/hub-file.ts'
import type { RunningPull } from './running-pull.ts'
import type { StoredFile } from './stored-file.ts'

/** What a pull shares with others. */
export type PullTools = Pick<DownloadHost, 'hub' | 'clock' | 'log' | 'checkSpace'>

/**
 * Fetches all files of a plan, one after the other, and says what is to be registered. Rejects with the reason of `pull.stop` after an
 * abort. Errors: those of `FileDownload.run`.
 */
export async function carryOutPull(tools: PullTools, pull: RunningPull, plan: PullPlan): Promise<ModelFacts> {
  const stored = new Map<PlannedFile, StoredFile>()
  for (const planned of filesOf(plan)) {
    const download = new FileDownload(hostOf(tools, pull, plan, planned.file), plan.at, planned.file, planned.target)
    stored.set(planned, await download.run(pull.stop.signal))
  }
  const { model, projector, quant, license, at } = plan
  const [first] = model
  const sha256 = stored.get(first)?.sha256
  return {
    path: first.target,
    ...(model.length > 1 ? { files: model.map(({ target }) => target) } : {}),
    size_bytes: model.reduce((sum, planned) => sum + (stored.get(planned)?.sizeBytes ?? 0), 0),
    ...(quant === null ? {} : { quant }),
    ...(projector === null ? {} : { mmproj: projector.target }),
    ...(license === null ? {} : { license }),
    hf_repo: at.repo,
    hf_filename: first.file.path,
    ...(sha256 === undefined ? {} : { sha256 }),
  }
}

/** The error for files that are all there and make no row: they stay, and the next pull has nothing to fetch. */
export function notRegistered(id: string, facts: ModelFacts, cause: unknown): Hal0Error {
  const { code, message, param, details } = toHal0Error(cause)
  const files = (facts.files ?? [facts.path]).filter((file) => file !== undefined)
  const remedy = `Its files stay (${files.join(', ')}): correct what is named and pull again, which fetches nothing twice; or delete them.`
  return Hal0Error.of(code as 'validation.invalid', `${id} was fetched, but cannot be registered: ${message}`, {
    ...(param === undefined ? {} : { param }),
    details: { ...details, files, remedy },
    cause,
  })
}

function hostOf(tools: PullTools, pull: RunningPull, { at }: PullPlan, { path }: HubFile): DownloadHost {
  return {
    ...tools,
    onDisk: (bytes) => pull.setOnDisk(path, bytes),
    onReceived: (bytes) => pull.addReceived(bytes),
    onResume: () => pull.addResume(),
    onState: (state) => pull.setState(state),
    relist: async () => {
      const file = (await tools.hub.list(at, pull.stop.signal)).find((each) => each.path === path)
      if (file === undefined) {
        throw Hal0Error.of('validation.invalid', `${path} is no longer in ${at.repo}`, {
          param: 'file',
          details: { repo: at.repo, file: path },
        })
      }
      pull.setFileSize(path, file.sizeBytes)
      return file
    },
  }
}
