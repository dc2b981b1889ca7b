import { chooseModelId } from '../config/models/taken-names.ts'
import { MODEL_ID_PATTERN, MODEL_ID_RULE } from '../contract/names.ts'
import type { PullRequest } from '../contract/pull.ts'
import { UsageError } from './cli-error.ts'

/** What `hal0 model pull` asks for, and under which id. */
export interface PullWish {
  readonly id: string
  readonly request: PullRequest
}

/**
 * What do the words of `hal0 model pull` mean? `ORG/NAME[:QUANT]`, that and a file, or the id of a model that was pulled before.
 * Errors: UsageError.
 */
export function pullWishOf(
  repo: string | undefined,
  file: string | undefined,
  options: { readonly id?: string; readonly revision?: string },
): PullWish {
  const wish = readWords(repo, file, options)
  if (MODEL_ID_PATTERN.test(wish.id)) return wish
  throw new UsageError(`${JSON.stringify(wish.id)} cannot be the id of a model: expected ${MODEL_ID_RULE}.`)
}

function readWords(
  repo: string | undefined,
  file: string | undefined,
  options: { readonly id?: string; readonly revision?: string },
): PullWish {
  const { id, revision } = options
  const more = revision === undefined ? {} : { revision }
  if (repo === undefined) {
    if (id !== undefined) return { id, request: more }
    throw new UsageError(
      'There is nothing to pull.',
      'Give ORG/NAME, for example: hal0 model pull org/name-GGUF:Q4_K_M',
    )
  }
  const [name, quant] = splitOnce(repo, ':')
  if (!/^[\w.-]+\/[\w.-]+$/.test(name)) {
    // No repository: the id of a row that knows its own.
    if (file === undefined && id === undefined) return { id: repo, request: more }
    throw new UsageError(`${JSON.stringify(repo)} is no repository.`, 'Write ORG/NAME, or ORG/NAME:QUANT.')
  }
  if (quant === '') throw new UsageError(`${repo} names no quantisation after the colon.`, 'Write for example :Q4_K_M.')
  if (quant !== undefined && file !== undefined) {
    throw new UsageError('A file is a quantisation already.', 'Leave :QUANT out, or the file.')
  }
  if (file !== undefined && !/\.gguf$/i.test(file)) {
    throw new UsageError(`${JSON.stringify(file)} is no .gguf file.`, 'Give its path in the repository.')
  }
  return {
    id: id ?? idOf(name, quant, file),
    request: {
      repo: name,
      ...(file === undefined ? {} : { file }),
      ...(quant === undefined ? {} : { quant }),
      ...more,
    },
  }
}

/** As the file would be registered: `org/Name-GGUF:Q8_0` → `name-q8_0`. Which ids are taken, the daemon knows. */
function idOf(repo: string, quant: string | undefined, file: string | undefined): string {
  if (file !== undefined) return chooseModelId(file)
  const name = (repo.split('/')[1] ?? repo).replace(/-gguf$/i, '')
  return chooseModelId(quant === undefined ? name : `${name}-${quant}`)
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
