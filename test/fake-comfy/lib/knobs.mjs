// The knobs of the fake ComfyUI: names, defaults, and where they are read from. README.md holds the table for people.

/** Every knob with its default; without any it behaves like a healthy ComfyUI that renders at once. */
export const KNOB_DEFAULTS = Object.freeze({
  listen_delay_ms: 0,
  exit_on_stdin_end: false,
  slow_stop_ms: 0,
  submit_ms: 0,
  render_ms: 0,
  hold_render: false,
  checkpoints: ['fake-xl.safetensors', 'old/fake-15.safetensors'],
  new_object_info: false,
  fail_node: null,
  fail_message: 'HIP out of memory. Tried to allocate 2.00 GiB',
  no_status: false,
  no_images: false,
  forget: false,
  refuse_free: false,
  die_mid_render: false,
  exit_code: 1,
  hang: null,
  garbage: null,
  error_path: null,
  error_status: 500,
})

/** @typedef {{ -readonly [K in keyof typeof KNOB_DEFAULTS]: any }} Knobs */

/**
 * Checks names, so that a misspelt knob is an error and never a test that passes by luck.
 * @param {Record<string, unknown>} given
 * @returns {string | undefined} what is wrong, for people
 */
export function knobMistake(given) {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(KNOB_DEFAULTS, name))
  return unknown === undefined ? undefined : `unknown knob "${unknown}"; see test/fake-comfy/README.md`
}

/**
 * COMFY_KNOBS, one JSON object.
 * @param {Record<string, string | undefined>} env
 * @returns {Knobs}
 */
export function knobsFromEnv(env) {
  const given = env.COMFY_KNOBS ? JSON.parse(env.COMFY_KNOBS) : {}
  const mistake = knobMistake(given)
  if (mistake !== undefined) throw new Error(mistake)
  return { ...KNOB_DEFAULTS, ...given }
}
