import type { LaunchLayer } from '../../contract/launch-plan.ts'
import { ENGINE_HOST, type LaunchChoices } from './derived-layers.ts'
import { npuFlags } from './flm-layers.ts'
import type { LaunchRequest, RemovedFlag } from './launch-request.ts'
import { looksLikeFlag } from './look-up-flag.ts'
import type { LayeredFlag } from './merge-flags.ts'
import type { WrittenFlag } from './read-flags.ts'

const PLACEHOLDER = /\$\{(PORT|MODEL|ALIAS|CTX|HOST)\}/g

/**
 * The command of an engine whose words the user wrote: the template with its placeholders filled in, word for word, then the profile's words as
 * they are. hal0 knows no flag of it, so it compares none and replaces none. A template of FastFlowLM is followed by the switches of the
 * slot's `[npu]`. Source: SPEC 9, 10 `custom`.
 */
export function templateFlags(
  { slot, port, model, engine, npu }: LaunchRequest,
  { ctx }: LaunchChoices,
  own: readonly WrittenFlag[],
): {
  readonly flags: readonly LayeredFlag[]
  readonly removed: readonly RemovedFlag[]
  readonly notes: readonly string[]
} {
  const values: Readonly<Record<string, string>> = {
    PORT: String(port),
    MODEL: model?.path ?? '',
    ALIAS: slot,
    CTX: String(ctx.ctxTokens),
    HOST: ENGINE_HOST,
  }
  const words = (engine.template ?? []).map((word) =>
    word.replace(PLACEHOLDER, (whole, name: string) => values[name] ?? whole),
  )
  const base = groupWords(words).map(([flag, ...rest]) => verbatim('base', flag, rest))
  return {
    flags: [
      ...base,
      ...own.map(({ words: [first = '', ...rest], flag }) => verbatim('profile', first, rest, flag)),
      ...(engine.key === 'flm' ? npuFlags(npu).map((one) => verbatim('slot', one.flag, one.values)) : []),
    ],
    removed: [],
    notes: [],
  }
}

/** Flags of a template that carry what hal0 chooses: a profile may not set them again. As written, without `=value`. */
export function managedFlags(template: readonly string[]): ReadonlySet<string> {
  const managed = new Set<string>()
  for (const [at, word] of template.entries()) {
    if (word.search(PLACEHOLDER) === -1) continue
    const flag = looksLikeFlag(word) ? word : (template[at - 1] ?? '')
    if (looksLikeFlag(flag)) managed.add(flag.split('=', 1)[0] ?? flag)
  }
  return managed
}

/** A flag with the words up to the next one; words before the first flag stand alone. */
function groupWords(words: readonly string[]): readonly (readonly [string, ...string[]])[] {
  const groups: [string, ...string[]][] = []
  for (const word of words) {
    const last = groups.at(-1)
    if (last !== undefined && looksLikeFlag(last[0]) && !looksLikeFlag(word)) last.push(word)
    else groups.push([word])
  }
  return groups
}

/** A word that is no flag stands as a value, so that the command is word for word what was written. */
function verbatim(layer: LaunchLayer, first: string, rest: readonly string[], name = first): LayeredFlag {
  const isFlag = looksLikeFlag(first)
  return {
    flag: isFlag ? first : '',
    values: isFlag ? rest : [first, ...rest],
    layer,
    canonical: isFlag ? (name.split('=', 1)[0] ?? name) : '',
    repeats: true,
  }
}
