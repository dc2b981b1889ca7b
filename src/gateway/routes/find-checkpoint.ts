import { Hal0Error } from '../../kernel/errors.ts'
import type { ComfyEngine } from '../../runners/comfy/comfy-client.ts'
import type { RenderEnd } from '../../runners/comfy/render.ts'
import { chooseCheckpoint } from '../../runners/comfy/rules/choose-checkpoint.ts'

/** Enough to see what there is. */
const MAX_LISTED = 20

/**
 * What is painted with: the checkpoint that ComfyUI lists for `wanted` (undefined = its first), or how the render ends without one. Errors:
 * `dispatch.upstream_unavailable`. Source: SPEC 8.
 */
export function findCheckpoint(
  listed: Awaited<ReturnType<ComfyEngine['checkpoints']>>,
  slot: string,
  wanted: string | undefined,
): { readonly checkpoint: string } | Exclude<RenderEnd, { kind: 'images' }> {
  // One that is known by name may do without the list, which only says in which folder it is.
  if ('error' in listed) return wanted === undefined || listed.kind === 'unread' ? listed : { checkpoint: wanted }
  const choice = chooseCheckpoint(wanted, listed.names)
  switch (choice.kind) {
    case 'chosen':
      return { checkpoint: choice.checkpoint }
    case 'none':
      return refused(`The ComfyUI of slot "${slot}" has no checkpoint to paint with`, {
        slot,
        remedy: 'Put a checkpoint into the folder models/checkpoints of ComfyUI.',
      })
    case 'not_listed':
      return refused(`The ComfyUI of slot "${slot}" does not list the checkpoint "${choice.wanted}"`, {
        slot,
        listed: listed.names.slice(0, MAX_LISTED),
        remedy: `Put the file into ComfyUI's folder models/checkpoints, or bind another model: \`hal0 slot edit ${slot} --model MODEL\`.`,
      })
  }
}

function refused(message: string, details: Readonly<Record<string, unknown>>) {
  return { kind: 'refused' as const, error: Hal0Error.of('dispatch.upstream_unavailable', message, { details }) }
}
