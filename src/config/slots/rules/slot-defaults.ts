import type { Device } from '../../../contract/slot-row.ts'

/**
 * Which runner does a slot use? The one it names, else the one its profile names, else the one of its device. `profileRunner`: undefined =
 * the profile names none. Source: SPEC 3 "Runner", 10.
 */
export function runnerKeyOf(
  config: { readonly binary?: string | undefined; readonly device: Device },
  profileRunner?: string,
): string {
  const named = config.binary ?? profileRunner
  if (named !== undefined) return named
  switch (config.device) {
    case 'cpu':
      return 'embedded'
    case 'gpu-cuda':
      return 'cuda'
    case 'gpu-rocm':
    case 'gpu-vulkan':
      return 'standard'
    case 'npu':
      return 'flm'
  }
}

/** Does the slot load when the daemon starts? What its file says, else yes when a model is bound. Source: SPEC 3. */
export function isAutoloaded(config: {
  readonly autoload?: boolean | undefined
  readonly model: { readonly default: string }
}): boolean {
  return config.autoload ?? config.model.default !== ''
}
