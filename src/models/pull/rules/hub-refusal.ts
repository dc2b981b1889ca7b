import { Hal0Error } from '../../../kernel/errors.ts'

/** What was asked of the hub. */
export interface HubQuestion {
  readonly endpoint: string
  readonly repo: string
  readonly revision: string
  /** Path in the repository; null = the list of its files. */
  readonly path: string | null
  /** Was a token sent along? */
  readonly hasToken: boolean
}

/**
 * The error for an answer that will not change by asking again. `said`: the hub's own words, '' = none.
 * 401 and 403: a gated or private repository (a hub also answers 401 for one that does not exist); 404: no such repository, revision or file.
 */
export function hubRefusal(question: HubQuestion, status: number, said: string): Hal0Error {
  const { endpoint, repo, revision, path, hasToken } = question
  const details = { endpoint, repo, revision, status, ...(path === null ? {} : { file: path }) }
  const words = said === '' ? '' : `: ${said}`
  if (status === 401 || status === 403) {
    const licence = `Accept the licence at ${endpoint}/${repo}`
    const remedy = hasToken
      ? `${licence} with the account of the token in HF_TOKEN, and let the token read that repository.`
      : `${licence}, start the daemon with HF_TOKEN set to a token of that account, and pull again.`
    const why = hasToken ? 'is gated or private for this token' : 'is gated, private, or does not exist'
    return Hal0Error.of('hub.unreachable', `${repo} ${why} at ${endpoint} (HTTP ${status}${words})`, {
      details: { ...details, remedy },
    })
  }
  if (status === 404 || status === 410) {
    const what =
      path === null ? `no repository ${repo} with revision ${revision}` : `no file ${path} in ${repo} (${revision})`
    return Hal0Error.of('validation.invalid', `${endpoint} has ${what} (HTTP ${status}${words})`, {
      param: path === null ? 'repo' : 'file',
      details,
    })
  }
  return hubUnreachable(question, `it answered HTTP ${status}${words}`)
}

/** The error for a hub that does not deliver. `reason`: a clause. */
export function hubUnreachable({ endpoint, repo, path }: HubQuestion, reason: string): Hal0Error {
  const what = path === null ? repo : `${repo}/${path}`
  return Hal0Error.of('hub.unreachable', `cannot fetch ${what} from ${endpoint}: ${reason}`, {
    details: { endpoint, repo, reason, ...(path === null ? {} : { file: path }) },
  })
}
