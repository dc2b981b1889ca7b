import { type Caller, isAdmin } from '../access/caller.ts'

/** How a row is told to this caller: whole to admins, else without what `redact` hides. Source: SPEC 14 "Roles". */
export function seenBy<Row>(caller: Caller, redact: (row: Row) => Row): (row: Row) => Row {
  return isAdmin(caller) ? (row) => row : redact
}
