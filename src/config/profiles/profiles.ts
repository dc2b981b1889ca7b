import type {
  ProfileCreate,
  ProfileEnvelope,
  ProfileImport,
  ProfileImportResult,
  ProfilePatch,
  ProfileRow,
} from '../../contract/profile.ts'

/** The profiles of a home: the seeds, which are built in and immutable, and the custom ones of profiles.toml. Source: SPEC 2, 3. */
export interface Profiles {
  /** Seeds first, each group in name order. Errors: `config.invalid`. */
  list(): Promise<readonly ProfileRow[]>
  /** Errors: `profile.not_found` (naming what there is), `config.invalid`. */
  show(name: string): Promise<ProfileRow>
  /** Errors: `profile.exists`, `profile.not_found` (`from`), `profile.flag_denied`, `validation.invalid`, `config.invalid`. */
  create(input: ProfileCreate): Promise<ProfileRow>
  /** Errors: as `create`; `profile.immutable`, `profile.not_found`. */
  update(name: string, patch: ProfilePatch): Promise<ProfileRow>
  /** Errors: `profile.in_use` (naming the slots), `profile.immutable`, `profile.not_found`. */
  remove(name: string): Promise<void>
  /** Without names: all custom ones. Errors: `profile.not_found`. */
  exportEnvelope(names: readonly string[] | undefined): Promise<ProfileEnvelope>
  /** All or nothing. Errors: `validation.invalid` (checksum, newer version), `profile.flag_denied`, `profile.immutable` (overwrite of a seed). */
  importEnvelope(input: ProfileImport): Promise<ProfileImportResult>
}
