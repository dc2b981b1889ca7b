import { ClientError } from '../client/client-errors.ts'
import type { ReservationsClient } from '../client/reservations.ts'
import { rephraseError } from './rephrase-error.ts'

/** Who may not change somebody else's booking is told whom to ask. The failure goes on. */
export async function namingOwner<T>(
  reservations: Pick<ReservationsClient, 'show'>,
  id: string,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action()
  } catch (thrown) {
    // Of those who may not at all, such as members who approve, the daemon says whom they need.
    if (!(thrown instanceof ClientError) || thrown.code !== 'auth.forbidden' || thrown.param !== 'id') throw thrown
    const owner = await reservations.show(id).then(
      (row) => row.owner.name,
      () => undefined,
    )
    const whom = owner === undefined ? 'its owner' : `its owner, ${owner},`
    throw rephraseError(thrown, { remedy: `Ask ${whom} or an admin to do it.` })
  }
}
