import { realpath } from 'node:fs/promises'

/** The path behind all links; the path as it is where nothing is there, or it may not be looked at. Never rejects. */
export function realOrSame(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}
