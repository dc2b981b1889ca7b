import type { Device } from '../../contract/slot-row.ts'

/** Which GPUs a process may see; containers get theirs by name and are not told here. */
export interface GpuPin {
  readonly device: Device
  /** As the vendor's tools count; undefined = every GPU. */
  readonly gpus: readonly number[] | undefined
}

/** The variables that `gpuEnvironment` may set. */
export const GPU_VARIABLES: readonly string[] = [
  'ROCR_VISIBLE_DEVICES',
  'HIP_VISIBLE_DEVICES',
  'GGML_VK_VISIBLE_DEVICES',
  'CUDA_DEVICE_ORDER',
  'CUDA_VISIBLE_DEVICES',
]

/**
 * Which variables show a process only its GPUs? Empty when it is not pinned, or its device has no GPU. ROCm counts twice: what HIP
 * sees are the devices that ROCr left, so there they are 0, 1, … again. Source: SPEC 8.
 */
export function gpuEnvironment({ device, gpus }: GpuPin): Readonly<Record<string, string>> {
  if (gpus === undefined) return {}
  const list = gpus.join(',')
  switch (device) {
    case 'gpu-rocm':
      return { ROCR_VISIBLE_DEVICES: list, HIP_VISIBLE_DEVICES: gpus.map((_, nth) => nth).join(',') }
    case 'gpu-vulkan':
      return { GGML_VK_VISIBLE_DEVICES: list }
    case 'gpu-cuda':
      return { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: list }
    case 'cpu':
    case 'npu':
      return {}
  }
}
