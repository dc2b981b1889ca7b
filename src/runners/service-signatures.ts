import { VLLM_SIGNATURES } from './python-signatures.ts'
import type { ErrorSignature } from './rules/explain-failure.ts'

const OTHER_PORT = "Free the port, or give the slot another one ('port' in its file; without it hal0 picks a free one)."

/**
 * What servers for speech and images say when they cannot run, most telling first: their own words, then those of Python, PyTorch and
 * uvicorn, which vLLM shares. None has state. Source: SPEC 10 "error signatures".
 */
export const SERVICE_SIGNATURES: readonly ErrorSignature[] = [
  {
    cause: 'missing_library',
    pattern: /ffmpeg( was)? not found|No such file or directory: '(ffmpeg|ffprobe)'|Couldn't find ffmpeg/i,
    remedy: 'Install ffmpeg: the server turns its sound into the format that was asked for with it.',
  },
  {
    cause: 'missing_library',
    pattern:
      /espeak(-ng)? (is )?not (installed|found)|failed to load espeak|No such file or directory: '\S*espeak\S*'/i,
    remedy: 'Install espeak-ng: the server finds the sounds of unknown words with it.',
  },
  {
    cause: 'missing_library',
    pattern: /Error loading ASGI app|can't open file '[^']*': \[Errno 2\]/,
    remedy:
      'The start command does not find its program: correct template or binary of the runner in hal0.toml (`hal0 config edit hal0`), with absolute paths, or the folder that its start script goes to.',
  },
  {
    cause: 'out_of_memory',
    pattern:
      /Allocation on device|DefaultCPUAllocator: (can't|not enough)|HIP error: out of memory|MPS backend out of memory/i,
    remedy:
      'Stop something else that holds memory, or use a smaller model; ComfyUI also takes --lowvram in the flags of its profile.',
  },
  ...VLLM_SIGNATURES,
]

/** What FastFlowLM, its driver and the dynamic linker say, most telling first. None has state. Source: SPEC 10 "error signatures". */
export const FLM_SIGNATURES: readonly ErrorSignature[] = [
  {
    cause: 'missing_library',
    pattern: /error while loading shared libraries: |symbol lookup error: |version `[^']+' not found/,
    remedy: 'Install the named library: FastFlowLM needs the XRT runtime with its plugin for the NPU (amdxdna).',
  },
  {
    cause: 'missing_library',
    pattern: /NPU firmware version .*incompatible|Incompatible firmware protocol|firmware is not alive/i,
    remedy:
      'Update the firmware of the NPU (package linux-firmware), then restart the machine; `flm validate` tells what it finds.',
  },
  {
    cause: 'missing_library',
    pattern: /amdxdna version .*incompatible|Kernel version incompatible|NPU driver version doesn't meet/i,
    remedy: 'Update the kernel or the driver of the NPU (amdxdna); `flm validate` tells what it finds.',
  },
  {
    cause: 'missing_library',
    pattern:
      /No NPU device found|No such device with index|\/dev\/accel\/accel\d+.*(permission denied|no such file)|No XDNA2? NPU/i,
    remedy:
      'FastFlowLM sees no NPU: load the driver (amdxdna), and let the user who runs hal0 open /dev/accel/accel0 (usually: group render); `flm validate` tells what it finds.',
  },
  {
    cause: 'port_in_use',
    pattern: /bind: Address already in use|address already in use/i,
    remedy: OTHER_PORT,
  },
  {
    cause: 'bad_file',
    pattern: /Model not found: /,
    remedy: 'Bind a tag that `flm list` shows: `hal0 slot edit SLOT --model TAG`.',
  },
  {
    cause: 'bad_file',
    pattern:
      /Missing files:|hash mismatch|file .*(is corrupted|is incomplete)|Failed to (open|load) .*\.(q4nx|xclbin|json)/i,
    remedy: 'A file of the model is missing or damaged: fetch it again with `flm pull TAG --force`.',
  },
  {
    cause: 'out_of_memory',
    pattern:
      /Memlock limit is too low|Failed to (raise|set) memlock|mlock.*(failed|Cannot allocate)|mmap.*failed.*Resource temporarily unavailable/i,
    remedy:
      'Raise the limit of locked memory of the user who runs hal0 (LimitMEMLOCK=infinity of its unit, or `ulimit -l unlimited`).',
  },
  {
    cause: 'out_of_memory',
    pattern: /NPU is already in use|CREATE_HWCTX|failed to create (hw|hardware) context/i,
    remedy: 'Another program holds the NPU: end it, then load the slot again.',
  },
  {
    cause: 'out_of_memory',
    pattern:
      /Failed to submit the command to the hw queue|could not page-in all|std::bad_alloc|Cannot allocate memory|CREATE_BO.*failed/i,
    remedy:
      "Lower ctx_size of the slot's profile, use a smaller model, or stop something else that holds main memory: the NPU works in it.",
  },
  {
    cause: 'bad_flag',
    pattern: /Error parsing arguments: |Invalid power mode/,
    remedy:
      'Take the flag out of the profile, or correct it: this version of FastFlowLM does not know it, or not that value.',
  },
]
