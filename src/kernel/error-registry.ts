/**
 * The error registry: every code hal0 answers with, once. Status, retry class, `type` on the wire and remedy live here and nowhere
 * else; docs/errors.md is printed from it. Source: SPEC 20.
 *
 * `retry`: `after` = it cures itself, so an error of it carries `retryAfterS` (Retry-After is sent); `never` = someone must act.
 */
export interface ErrorEntry {
  /** HTTP status. */
  readonly status: number
  readonly retry: 'never' | 'after'
  /** `error.type` on the wire; the official SDKs show it. */
  readonly type: string
  /** One sentence: what the reader can do. */
  readonly remedy: string
}

export const errorRegistry = {
  'slot.config_error': {
    status: 400,
    retry: 'never',
    type: 'invalid_request_error',
    remedy: 'Correct the named key in the slot file, or send a corrected request.',
  },
  'slot.tuning_key_denied': {
    status: 400,
    retry: 'never',
    type: 'invalid_request_error',
    remedy: 'Put the key on the model or profile that owns it, or under [tune].',
  },
  'slot.llama_env_denied': {
    status: 400,
    retry: 'never',
    type: 'invalid_request_error',
    remedy: 'Remove the variable from [server] env; hal0 or a profile owns what it sets.',
  },
  'slot.unconverted': {
    status: 400,
    retry: 'never',
    type: 'invalid_request_error',
    remedy: 'Move the named keys to a profile; the slot keeps the rest.',
  },
  'slot.profile_missing': {
    status: 400,
    retry: 'never',
    type: 'invalid_request_error',
    remedy: 'Create the profile or point the slot at one that exists.',
  },
  'slot.flag_unsupported': {
    status: 400,
    retry: 'never',
    type: 'invalid_request_error',
    remedy: 'Remove the flag, or choose a runner that knows it.',
  },
  'profile.flag_denied': {
    status: 400,
    retry: 'never',
    type: 'invalid_request_error',
    remedy: 'Remove the flag from the profile; the message names its owner.',
  },
  'config.invalid': {
    status: 400,
    retry: 'never',
    type: 'invalid_request_error',
    remedy: 'Mend each place that is listed: file, key and what was expected.',
  },
  'request.invalid': {
    status: 400,
    retry: 'never',
    type: 'invalid_request_error',
    remedy: 'Correct the request as the message says.',
  },
  'auth.required': {
    status: 401,
    retry: 'never',
    type: 'authentication_error',
    remedy:
      'Send a key as `Authorization: Bearer KEY` or `x-api-key: KEY`. Where no user is defined: reach hal0 through a loopback address, or a name in [server] allowed_hosts, and without a proxy in between.',
  },
  'auth.forbidden': {
    status: 403,
    retry: 'never',
    type: 'permission_error',
    remedy: 'Ask an administrator for the role this needs.',
  },
  gpu_reserved: {
    status: 403,
    retry: 'never',
    type: 'permission_error',
    remedy: 'The lane is booked by someone else; book it, or name another model.',
  },
  'slot.not_found': {
    status: 404,
    retry: 'never',
    type: 'not_found_error',
    remedy: 'List the slots with `hal0 slot list`.',
  },
  'model.not_found': {
    status: 404,
    retry: 'never',
    type: 'not_found_error',
    remedy: 'Add the file to models.toml under [models.<id>], or bind a model that is listed there.',
  },
  'profile.not_found': {
    status: 404,
    retry: 'never',
    type: 'not_found_error',
    remedy: 'Use the name of a profile that exists.',
  },
  'stack.not_found': {
    status: 404,
    retry: 'never',
    type: 'not_found_error',
    remedy: 'Use the name of a stack that exists.',
  },
  'lane.not_found': {
    status: 404,
    retry: 'never',
    type: 'not_found_error',
    remedy: 'Use the name of a lane that exists.',
  },
  'reservation.not_found': {
    status: 404,
    retry: 'never',
    type: 'not_found_error',
    remedy: 'Use the id of a reservation that exists.',
  },
  model_not_found: { status: 404, retry: 'never', type: 'not_found_error', remedy: 'Use a name from GET /v1/models.' },
  'dispatch.no_route': {
    status: 404,
    retry: 'never',
    type: 'not_found_error',
    remedy: 'Bind a model to a slot, then name that slot.',
  },
  'gpu.img_slot_missing': {
    status: 404,
    retry: 'never',
    type: 'not_found_error',
    remedy:
      'Make one: `hal0 slot create img --type image --binary comfyui --device gpu-cuda --model CHECKPOINT` (CHECKPOINT: by the name that ComfyUI has for it; the device may be another).',
  },
  'slot.illegal_transition': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: "Look at the slot's state; this operation does not apply to it.",
  },
  'slot.npu_exclusivity_violation': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: 'Unload the other NPU slot (`hal0 slot unload`), or take its model away.',
  },
  'slot.pinned': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: 'Unpin the slot first (`hal0 slot edit NAME --no-pinned`), or use force.',
  },
  'slot.exists': { status: 409, retry: 'never', type: 'conflict_error', remedy: 'Choose another name.' },
  'slot.port_in_use': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: 'Free the port, choose another, or leave `port` out and hal0 picks one.',
  },
  'lane.slot_managed': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: "The lane's timetable runs this slot; change the lane's bookings instead.",
  },
  'reservation.overlap': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: 'Choose a window that does not overlap the one named.',
  },
  'reservation.state': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: "Look at the reservation's status; this change does not apply to it.",
  },
  'stack.immutable': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: 'Copy the seed stack under another name and change the copy.',
  },
  'profile.exists': { status: 409, retry: 'never', type: 'conflict_error', remedy: 'Choose another name.' },
  'profile.in_use': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: 'Point the slots and lanes that are named at another profile first.',
  },
  'profile.immutable': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: 'Clone the seed profile and change the clone.',
  },
  'model.exists': { status: 409, retry: 'never', type: 'conflict_error', remedy: 'Choose another id.' },
  'model.in_use': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: 'Unbind it from the slots, lanes and bookings that are named first.',
  },
  'pull.in_progress': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: 'Wait for the running pull, or cancel it.',
  },
  'gpu.pinned': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: 'Unpin the mode first (POST /api/comfyui/pin), or switch with `force`.',
  },
  'server.already_running': {
    status: 409,
    retry: 'never',
    type: 'conflict_error',
    remedy: 'Use the running daemon, stop it, or choose another home (`--home DIR` or HAL0_HOME).',
  },
  'request.too_large': {
    status: 413,
    retry: 'never',
    type: 'invalid_request_error',
    remedy: 'Send a smaller body, or raise the limit in hal0.toml.',
  },
  'validation.invalid': {
    status: 422,
    retry: 'never',
    type: 'invalid_request_error',
    remedy: 'Correct what the message names.',
  },
  'reservation.limit': {
    status: 422,
    retry: 'never',
    type: 'invalid_request_error',
    remedy:
      'Keep within the limits that are named: choose another window, cancel a booking of your own (`hal0 reservation list --mine`), or ask an admin, who has none.',
  },
  'dispatch.queue_full': {
    status: 429,
    retry: 'after',
    type: 'rate_limit_error',
    remedy: 'Wait for Retry-After; the slot has more requests than its queue holds.',
  },
  'auth.rate_limited': {
    status: 429,
    retry: 'after',
    type: 'rate_limit_error',
    remedy: 'Wait for Retry-After before signing in again.',
  },
  'slot.spawn_failed': {
    status: 500,
    retry: 'never',
    type: 'server_error',
    remedy: 'Look at the reason and at `hal0 slot logs`; then load the slot again.',
  },
  'slot.output_sanity_failed': {
    status: 500,
    retry: 'never',
    type: 'server_error',
    remedy:
      'The engine answers garbage: try another build, quantisation or device; if the answer is right for this model, set output_sanity.',
  },
  'slot.image_missing': {
    status: 500,
    retry: 'never',
    type: 'server_error',
    remedy: 'Pull the container image that is named.',
  },
  'slot.model_missing': {
    status: 500,
    retry: 'never',
    type: 'server_error',
    remedy: 'Put the file back where the registry says, or register the model again.',
  },
  internal: {
    status: 500,
    retry: 'never',
    type: 'server_error',
    remedy: "This is a fault of hal0; report it with the daemon's log line of the same request id.",
  },
  'dispatch.route_unsupported': {
    status: 501,
    retry: 'never',
    type: 'invalid_request_error',
    remedy: 'Use a slot whose runner has this route; the message names them.',
  },
  'dispatch.upstream_unavailable': {
    status: 502,
    retry: 'never',
    type: 'server_error',
    remedy: 'The engine closed or refused the connection; look at `hal0 slot logs`.',
  },
  'pull.checksum_mismatch': {
    status: 502,
    retry: 'never',
    type: 'server_error',
    remedy: "Pull again; if it repeats, the hub's file and its checksum differ.",
  },
  'hub.unreachable': {
    status: 502,
    retry: 'never',
    type: 'server_error',
    remedy: 'Check the network and HF_ENDPOINT.',
  },
  'slot.not_ready': {
    status: 503,
    retry: 'never',
    type: 'server_error',
    remedy: 'Someone has to act: load the slot, or bind a model to it.',
  },
  'slot.health_failed': {
    status: 503,
    retry: 'never',
    type: 'server_error',
    remedy: 'The engine never became healthy; look at `hal0 slot logs`, then load the slot again.',
  },
  'slot.loading': {
    status: 503,
    retry: 'after',
    type: 'server_error',
    remedy: 'Wait for Retry-After; the slot is loading.',
  },
  'slot.unloading': {
    status: 503,
    retry: 'after',
    type: 'server_error',
    remedy: 'Wait for Retry-After; the slot is being unloaded or restarted.',
  },
  'slot.crash_looping': {
    status: 503,
    retry: 'after',
    type: 'server_error',
    remedy:
      'Its engine fails: `hal0 slot show` says why. Mend that, then `hal0 slot load` tries at once; else wait for Retry-After.',
  },
  'gpu.image_mode': {
    status: 503,
    retry: 'after',
    type: 'server_error',
    remedy: 'The GPU renders images; wait for Retry-After.',
  },
  'gpu.inference_mode': {
    status: 503,
    retry: 'after',
    type: 'server_error',
    remedy: 'The GPU serves language models; wait for Retry-After.',
  },
  'gpu.img_not_ready': {
    status: 503,
    retry: 'after',
    type: 'server_error',
    remedy: 'The image slot did not become ready; wait for Retry-After.',
  },
  gpu_exclusive: {
    status: 503,
    retry: 'after',
    type: 'server_error',
    remedy: 'The lane is booked whole; wait until the booking ends.',
  },
  model_switching: {
    status: 503,
    retry: 'after',
    type: 'server_error',
    remedy: 'The lane is switching its model; wait for Retry-After.',
  },
  'lane.store_unavailable': {
    status: 503,
    retry: 'after',
    type: 'server_error',
    remedy: 'hal0.db cannot be read or written at present; wait for Retry-After, and look at the log of the daemon.',
  },
  'slot.terminate_timeout': {
    status: 504,
    retry: 'never',
    type: 'server_error',
    remedy: "The stop goes on; look at the slot's state.",
  },
  'slot.seam_timeout': {
    status: 504,
    retry: 'never',
    type: 'server_error',
    remedy: 'systemd or Podman did not answer in time; look at the host.',
  },
  'dispatch.stalled': {
    status: 504,
    retry: 'never',
    type: 'server_error',
    remedy: 'The engine sent nothing for too long; look at `hal0 slot logs`.',
  },
  'slot.preload_evict_insufficient': {
    status: 507,
    retry: 'never',
    type: 'server_error',
    remedy:
      'Choose a smaller model, lower the context (`hal0 slot edit NAME --ctx-size N`), or unload or unpin what is named.',
  },
  'model.insufficient_disk': {
    status: 507,
    retry: 'never',
    type: 'server_error',
    remedy: 'Free disk space where the model store lives.',
  },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errorRegistry
