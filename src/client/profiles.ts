import {
  type ProfileCreate,
  type ProfileEnvelope,
  type ProfileImport,
  type ProfileImportResult,
  type ProfilePatch,
  type ProfileRow,
  profileEnvelopeSchema,
  profileImportResultSchema,
  profileListSchema,
  profileRowSchema,
} from '../contract/profile.ts'
import type { Http } from './http.ts'

/** `/api/profiles`, typed. Errors of every call: ClientError, UnreachableError. Source: SPEC 3, 16. */
export interface ProfilesClient {
  /** Those that hal0 brings first, each group in name order. */
  list(): Promise<readonly ProfileRow[]>
  show(name: string): Promise<ProfileRow>
  create(input: ProfileCreate): Promise<ProfileRow>
  /** Absent keys stay, null deletes one. */
  update(name: string, patch: ProfilePatch): Promise<ProfileRow>
  remove(name: string): Promise<void>
  /** Without names: all custom ones. */
  exportEnvelope(names: readonly string[]): Promise<ProfileEnvelope>
  importEnvelope(input: ProfileImport): Promise<ProfileImportResult>
}

/** The calls of `ProfilesClient` over one connection. */
export function profilesClient(http: Http): ProfilesClient {
  const at = (name: string) => `/api/profiles/${encodeURIComponent(name)}`
  return {
    list: async () => (await http.json(profileListSchema, '/api/profiles')).profiles,
    show: (name) => http.json(profileRowSchema, at(name)),
    create: (body) => http.json(profileRowSchema, '/api/profiles', { method: 'POST', body }),
    update: (name, body) => http.json(profileRowSchema, at(name), { method: 'PUT', body }),
    async remove(name) {
      await http.text(at(name), { method: 'DELETE' })
    },
    exportEnvelope: (names) =>
      http.json(profileEnvelopeSchema, '/api/profiles/export', {
        query: { names: names.length === 0 ? undefined : names.join(',') },
      }),
    importEnvelope: (body) => http.json(profileImportResultSchema, '/api/profiles/import', { method: 'POST', body }),
  }
}
