import {
  type FoundModel,
  foundModelSchema,
  type ModelAdd,
  type ModelPatch,
  type ModelRemoved,
  type ModelRow,
  type ModelScan,
  modelListSchema,
  modelRemovedSchema,
  modelRowSchema,
  type ScanReport,
  scanReportSchema,
} from '../contract/model.ts'
import { type PullJob, type PullRequest, pullJobSchema, pullListSchema } from '../contract/pull.ts'
import { parseJson } from '../kernel/read-json.ts'
import { type Http } from './http.ts'

/** `/api/models` and `/api/pulls`, typed. Errors of every call: ClientError, UnreachableError. Source: SPEC 3, 16. */
export interface ModelsClient {
  /** In id order. */
  list(): Promise<readonly ModelRow[]>
  show(id: string): Promise<ModelRow>
  /** Paths are of the daemon's machine, absolute. */
  add(input: ModelAdd): Promise<ModelRow>
  /** Absent keys stay, null deletes one. */
  update(id: string, patch: ModelPatch): Promise<ModelRow>
  remove(id: string, options?: { readonly deleteFiles?: boolean }): Promise<ModelRemoved>
  scan(input: ModelScan): Promise<ScanReport>
  inspect(path: string): Promise<FoundModel>
  /** Begins a download; it goes on whoever watches it. */
  pull(id: string, request: PullRequest): Promise<PullJob>
  pullState(id: string): Promise<PullJob>
  cancelPull(id: string): Promise<PullJob>
  /** The job now, then at each change, until it is over. */
  followPull(id: string, options?: { readonly signal?: AbortSignal }): AsyncGenerator<PullJob, void, void>
  /** Running ones and the last finished one of each model, newest first. */
  pulls(): Promise<readonly PullJob[]>
}

/** The calls of `ModelsClient` over one connection. */
export function modelsClient(http: Http): ModelsClient {
  // An id may hold `/`, which must not become a step of the path.
  const at = (id: string, rest = '') => `/api/models/${encodeURIComponent(id)}${rest}`
  return {
    list: async () => (await http.json(modelListSchema, '/api/models')).models,
    show: (id) => http.json(modelRowSchema, at(id)),
    add: (body) => http.json(modelRowSchema, '/api/models', { method: 'POST', body }),
    update: (id, body) => http.json(modelRowSchema, at(id), { method: 'PUT', body }),
    remove: (id, { deleteFiles } = {}) =>
      http.json(modelRemovedSchema, at(id), { method: 'DELETE', query: { delete_files: deleteFiles } }),
    scan: (body) => http.json(scanReportSchema, '/api/models/scan', { method: 'POST', body }),
    inspect: (path) => http.json(foundModelSchema, '/api/models/inspect', { method: 'POST', body: { path } }),
    pull: (id, body) => http.json(pullJobSchema, at(id, '/pull'), { method: 'POST', body }),
    pullState: (id) => http.json(pullJobSchema, at(id, '/pull')),
    cancelPull: (id) => http.json(pullJobSchema, at(id, '/pull'), { method: 'DELETE' }),
    async *followPull(id, options = {}) {
      for await (const message of http.events(at(id, '/pull/stream'), { signal: options.signal })) {
        if (message.event !== 'pull') continue
        const job = pullJobSchema.safeParse(parseJson(message.data))
        if (job.success) yield job.data
      }
    },
    pulls: async () => (await http.json(pullListSchema, '/api/pulls')).pulls,
  }
}
