import type { Caller } from '../../access/caller.ts'
import type { People, Person } from '../../access/people.ts'

/** The people of a scenario. */
export interface SimulatedPeople extends People {
  /** As who they ask. */
  caller(name: string): Caller
  /** The first admin: approves, and chooses by hand. */
  readonly admin: Caller
}

/** `all`: at least one of them is an admin; their id is their name. */
export function createSimulatedPeople(all: readonly Person[]): SimulatedPeople {
  const byName = (name: string) => all.find((person) => person.name === name.toLowerCase())
  const admins = all.filter(({ role }) => role === 'admin')
  function caller(name: string): Caller {
    const person = byName(name)
    if (person === undefined) throw new Error(`nobody in the scenario is called ${name}`)
    return { kind: 'user', userId: person.id, name: person.name, role: person.role, keyId: undefined }
  }
  const [first] = admins
  if (first === undefined) throw new Error('the scenario has no admin')
  return { byId: byName, byName, all: () => all, admins: () => admins, caller, admin: caller(first.name) }
}
