import type { LoadRecord } from '../../contract/load-record.ts'

/** What the history was told and has not written yet, in order. */
export type HistoryChange =
  | { readonly kind: 'add'; readonly record: LoadRecord }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string }
  | { readonly kind: 'forget'; readonly slot: string }

/** What waits of one slot's history, and which rows of the file come after it. */
export interface Waiting {
  /** Newest first, under the name that was asked for. */
  readonly records: readonly LoadRecord[]
  /** The name under which the file still holds the rest of it; undefined = nothing in the file is this slot's. */
  readonly nameInFile: string | undefined
}

/** What would `slot` have, once `changes` are written? They are read backwards, so that a rename leads to the name it came from. */
export function findWaiting(changes: readonly HistoryChange[], slot: string): Waiting {
  const records: LoadRecord[] = []
  let name = slot
  for (const change of changes.toReversed()) {
    switch (change.kind) {
      case 'add':
        if (change.record.slot === name) records.push({ ...change.record, slot })
        break
      case 'rename':
        if (change.from === change.to) break
        if (change.to === name) name = change.from
        // What had this name before went away with it.
        else if (change.from === name) return { records, nameInFile: undefined }
        break
      case 'forget':
        if (change.slot === name) return { records, nameInFile: undefined }
        break
    }
  }
  return { records, nameInFile: name }
}
