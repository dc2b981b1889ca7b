import { type DerivedFlag, type DerivedLayers, ENGINE_HOST, type LaunchChoices, needed } from './derived-layers.ts'
import type { LaunchModel, LaunchRequest } from './launch-request.ts'

/** What hal0 adds to `flm serve`: the tag is its positional argument and stands first. Source: SPEC 8 "NPU", 9. */
export function flmLayers({ port, model, npu }: LaunchRequest, { ctx }: LaunchChoices): DerivedLayers {
  return {
    base: [
      ...(model === undefined ? [] : [needed('', model.path)]),
      needed('--host', ENGINE_HOST),
      needed('--port', String(port)),
      needed('--ctx-len', String(ctx.ctxTokens)),
    ],
    model: [],
    profile: [],
    slot: npuFlags(npu),
  }
}

/** What the one engine of the NPU is told to do besides chat. Source: SPEC 8 "NPU". */
export function npuFlags(npu: LaunchRequest['npu']): readonly DerivedFlag[] {
  return [
    ...(npu?.asr === true ? [needed('--asr', '1')] : []),
    ...(npu?.embed === true ? [needed('--embed', '1')] : []),
  ]
}

/** A model that its engine knows by a name of its own (`Runner.modelRef` `tag`): the name is all that is known, and is passed as it is. */
export function modelOfTag(tag: string): LaunchModel {
  return {
    id: tag,
    path: tag,
    architecture: null,
    nativeCtxTokens: null,
    chatTemplate: null,
    mmproj: null,
    drafter: null,
    mtp: null,
    tags: [],
    jinja: null,
  }
}
