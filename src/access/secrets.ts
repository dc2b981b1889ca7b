import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 bits: nobody guesses one. */
const SECRET_BYTES = 32
/** Enough that people tell their keys apart; what it leaves out is still 200 bits. */
const PREFIX_CHARS = 12
const ID_BYTES = 16

/** A secret that nothing can be told from. `kind` is its readable beginning. */
export function newSecret(kind: 'hal0_' | 'hal0_local_' | 'hal0_session_' | 'hal0_setup_' | 'hal0_cal_'): string {
  return kind + randomBytes(SECRET_BYTES).toString('base64url')
}

/** What is stored of a secret: SHA-256, hex. As random as they are, nothing slower is needed. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** The first characters of a key, by which people know it. */
export function prefixOf(key: string): string {
  return key.slice(0, PREFIX_CHARS)
}

/** Takes as long whatever is sent. `hash`: of the secret that is expected. */
export function isSecret(sent: string, hash: string): boolean {
  return timingSafeEqual(Buffer.from(hashSecret(sent), 'hex'), Buffer.from(hash, 'hex'))
}

/** Longer than a user name may be, so that none is ever taken for an id. */
export function newId(kind: 'usr_' | 'key_'): string {
  return kind + randomBytes(ID_BYTES).toString('hex')
}
