import { z } from 'zod'
import { STOP_SIGNALS } from '../../contract/launch-plan.ts'
import { NAME_PATTERN, NAME_RULE } from '../../contract/names.ts'
import { SLOT_TYPES } from '../../contract/slot-row.ts'
import { oneOf } from '../../contract/tune.ts'
import { selectNearest } from '../../kernel/nearest-word.ts'
import { isServiceRunner } from '../../runners/rules/service-keys.ts'
import { ENGINE_ROUTES } from '../../runners/runner.ts'
import { isRunnerKey, RUNNER_KEYS } from '../../runners/runner-keys.ts'

const urlPath = z.string().regex(/^[/]/, 'expected a path that begins with /').optional()

/** One `[runners.<key>]` table of hal0.toml. The keys from `template` on are for a runner of the user's; some of them also for one of `SERVICE_RUNNERS`. Source: SPEC 10. */
export const runnerSettingsSchema = z.strictObject({
  /** The program to run; absent = the one on PATH. */
  binary: z.string('expected an absolute path').startsWith('/', 'expected an absolute path').optional(),
  /** The container image to run; only for runtime "quadlet". */
  image: z.string().min(1, 'expected the name of an image').optional(),
  /** What a client that leaves does to the engine; `drain` for one that does not survive a cut connection. */
  on_client_abort: oneOf(['abort', 'drain']).optional(),
  /** The command, word by word, with ${PORT} ${MODEL} ${ALIAS} ${CTX} ${HOST} where they belong. */
  template: z
    .array(z.string(), 'expected a list of words')
    .min(1, 'expected at least the program')
    .refine(
      (words) => words.some((word) => word.includes('${PORT}')),
      'expected ${PORT} in one of the words: hal0 chooses the port',
    )
    .optional(),
  health_path: urlPath,
  /** '' = the engine has no such list: healthy is ready. */
  models_path: z
    .string()
    .regex(/^([/].*)?$/, 'expected a path that begins with /, or "" for none')
    .optional(),
  /** A path that answers only with the engine key. */
  identity_path: urlPath,
  stop_signal: oneOf(STOP_SIGNALS).optional(),
  /** The environment variable in which the engine takes its key. */
  key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable')
    .optional(),
  /** Its streams tell their usage only when asked: hal0 asks (`stream_options.include_usage`). */
  usage_on_request: z.boolean('expected true or false').optional(),
  types: z.array(oneOf(SLOT_TYPES), 'expected a list of slot types').min(1, 'expected at least one type').optional(),
  routes: z.array(oneOf(ENGINE_ROUTES), 'expected a list of routes').min(1, 'expected at least one route').optional(),
})
export type RunnerSettings = z.output<typeof runnerSettingsSchema>

/** How an engine is started, looked at and ended: a template of the user's says it, and may say it of a service runner. */
const START_KEYS = ['template', 'health_path', 'models_path', 'stop_signal'] as const
/** What an engine is: only a template of the user's says it. */
const NATURE_KEYS = ['identity_path', 'key_env', 'usage_on_request', 'types', 'routes'] as const

/** `[runners]`: hal0's own runners with other programs, and the user's, each with its template. Source: SPEC 10. */
export const runnersSchema = z.record(z.string(), runnerSettingsSchema).superRefine((runners, context) => {
  for (const [key, settings] of Object.entries(runners)) {
    const message = mistakeIn(key, settings)
    if (message !== undefined) context.addIssue({ code: 'custom', path: [key], message })
  }
})

function mistakeIn(key: string, settings: RunnerSettings): string | undefined {
  if (key === 'embedded') return 'the embedded engine comes with hal0 and has no settings'
  if (isRunnerKey(key) && key !== 'custom') {
    const isService = isServiceRunner(key)
    if (settings.template !== undefined && !isService) {
      return `hal0 knows how to start ${key}; a template needs a key of its own`
    }
    const foreign = [...(isService ? [] : START_KEYS), ...NATURE_KEYS].filter((name) => settings[name] !== undefined)
    return foreign.length === 0
      ? undefined
      : `${foreign.join(', ')}: hal0 knows this of ${key}; only a template says it itself`
  }
  if (settings.template !== undefined) return NAME_PATTERN.test(key) ? undefined : `expected a key of ${NAME_RULE}`
  const nearest = selectNearest(key, RUNNER_KEYS)
  const hint = nearest === undefined ? `hal0 knows ${RUNNER_KEYS.join(', ')}` : `did you mean ${nearest}?`
  return `no runner of hal0's has this key; ${hint} (One of your own needs a template.)`
}
