import { err, ok, type Result } from '../../../kernel/result.ts'

/** File systems take 255; the name of a part is longer than its file's by up to 50. */
const MAX_NAME_BYTES = 200

/** Where in the model store does a file of a repository belong? `org--name/` and its path, or why it may not be there. */
export function resolveStorePath(repo: string, path: string): Result<string, string> {
  const [org, name, more] = repo.split('/')
  if (org === undefined || name === undefined || more !== undefined || ![org, name].every(isRepoWord)) {
    return err(`"${repo}" is no repository: expected org/name of letters, digits, - _ and .`)
  }
  for (const segment of path.split('/')) {
    const problem = segmentProblem(segment)
    if (problem !== null) return err(`the file name ${JSON.stringify(path)} ${problem}`)
  }
  return ok(`${org}--${name}/${path}`)
}

/** Hubs do not allow `--` in names; with it two repositories would share a folder. */
function isRepoWord(word: string): boolean {
  return /^[\w.-]{1,96}$/.test(word) && !word.includes('--') && word !== '.' && word !== '..'
}

function segmentProblem(segment: string): string | null {
  if (segment === '') return 'is absolute or has an empty part'
  if (segment === '.' || segment === '..') return `has a part "${segment}"`
  if (/[\\\p{Cc}\p{Cs}]/u.test(segment)) {
    return 'has a backslash or a control character'
  }
  return encodeURIComponent(segment).replaceAll(/%../g, '_').length > MAX_NAME_BYTES ? 'is too long' : null
}
