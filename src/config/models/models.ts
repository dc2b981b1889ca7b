import type {
  FoundModel,
  ModelAdd,
  ModelPatch,
  ModelRemoved,
  ModelRow,
  ModelScan,
  ScanReport,
} from '../../contract/model.ts'

/** The model registry (models.toml) with what the files say. Source: SPEC 3 "model". */
export interface Models {
  /** In id order. A file that is gone or damaged is told in its row. Errors: `config.invalid`. */
  list(): Promise<readonly ModelRow[]>
  /** Errors: `model.not_found` (naming near ids), `config.invalid`. */
  show(id: string): Promise<ModelRow>
  /**
   * Adds a row: facts are read from the file, all parts of a split model are found, a projector or drafter that belongs to it is paired.
   * What `input` says wins. Errors: `model.exists`, `slot.model_missing`, `slot.config_error` (damaged header), `validation.invalid` (clash of names, a
   * projector as a model, missing parts), `config.invalid`.
   */
  add(input: ModelAdd): Promise<ModelRow>
  /** Null deletes a key; other files are read as in `add`. Errors: `model.not_found`, and those of `add` but `model.exists`. */
  update(id: string, patch: ModelPatch): Promise<ModelRow>
  /** `deleteFiles`: only files inside the model store. Errors: `model.in_use` (naming slots and models), `model.not_found`. */
  remove(id: string, options: { readonly deleteFiles: boolean }): Promise<ModelRemoved>
  /** Errors: `validation.invalid` (no such folder), `config.invalid`. */
  scan(input: ModelScan): Promise<ScanReport>
  /** Errors: `slot.model_missing`, `slot.config_error` (damaged header). */
  inspect(path: string): Promise<FoundModel>
}
