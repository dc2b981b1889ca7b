import type { EngineRoute } from '../../contract/engine-route.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { listNames } from '../../kernel/list-names.ts'
import { shortText } from '../../kernel/short-text.ts'
import { typeServes } from '../../runners/rules/served-routes.ts'
import { createCommand } from './create-command.ts'
import { readEngineSaid } from './engine-said.ts'
import { isActive, type RouteCandidate } from './find-slot.ts'
import { compareCandidates, rankOf } from './rank-slots.ts'
import type { InferenceRoute } from './route-table.ts'

/** The keys of the runners that have a route, as they are registered; asked for each request, so it only hands out what is known. */
export type RunnersFor = (route: EngineRoute) => readonly string[]

/** A slot that is asked on a route. */
export interface RouteAsk {
  readonly slot: Pick<RouteCandidate, 'name' | 'type' | 'runner'>
  readonly route: Pick<InferenceRoute, 'path' | 'enginePath' | 'needs'>
  /** Every slot of this daemon. */
  readonly rows: readonly RouteCandidate[]
  /** Undefined = nobody knows what runners have; then no runner is refused. */
  readonly runnersFor: RunnersFor | undefined
}

/**
 * Is it of no use to load the slot for this route? The error for the client: its runner does not have the route, or an engine of the slot's
 * type does not answer it. Undefined = the engine decides. Errors: `dispatch.route_unsupported`. Source: SPEC 11.
 */
export function checkRoute(ask: RouteAsk): Hal0Error | undefined {
  const { slot, route, runnersFor } = ask
  const hasRunner = runnersFor === undefined || runnersFor(route.enginePath).includes(slot.runner)
  return hasRunner && typeServes(slot.type, route.enginePath) ? undefined : unsupportedError(ask)
}

/**
 * The one error for a route that a slot cannot serve: which slot, what would. `said`: the engine's own words, where it was the engine that
 * refused. Source: SPEC 11, 20.
 */
export function unsupportedError(ask: RouteAsk, said?: string): Hal0Error {
  const { slot, route, runnersFor } = ask
  const runners = runnersFor?.(route.enginePath) ?? []
  const fit = selectFit(ask)
  const slots = selectAble(fit)
  const own = ` of slot "${slot.name}" (type ${slot.type}, runner ${slot.runner})`
  const what =
    said !== undefined
      ? `The engine${own} does not serve ${route.path}: ${said}`
      : runnersFor !== undefined && !runners.includes(slot.runner)
        ? `The runner${own} does not have ${route.path}`
        : `The engine${own} does not answer ${route.path}`
  const have = runners.length === 0 ? '' : `; runners that have it: ${listNames(runners)}`
  const could = slots.length === 0 ? '' : `; slots here that could answer: ${listNames(slots)}`
  return Hal0Error.of('dispatch.route_unsupported', `${what}${have}${could}`, {
    param: 'model',
    details: {
      slot: slot.name,
      runner: slot.runner,
      route: route.path,
      runners,
      slots,
      ...(said === undefined ? {} : { engine: said }),
      remedy: remedyOf(route, runners, slots, fit),
    },
  })
}

function remedyOf(
  { needs }: RouteAsk['route'],
  runners: readonly string[],
  slots: readonly string[],
  fit: readonly Pick<RouteCandidate, 'name' | 'model_id' | 'runner'>[],
): string {
  const [first] = slots
  if (first !== undefined) return `Name another slot as model: "${first}".`
  const bare = fit.find((row) => !isActive(row))
  if (bare !== undefined) return `Give slot "${bare.name}" a model: \`hal0 slot edit ${bare.name} --model MODEL\`.`
  return `Make a slot for it: \`${createCommand({ type: needs, runners })}\`; \`hal0 runner list\` shows what each runner has.`
}

/** Slots that have the runner and the type for it, the soonest first. */
function selectFit({ slot, route, rows, runnersFor }: RouteAsk): readonly RouteCandidate[] {
  const runners = runnersFor?.(route.enginePath)
  return rows
    .filter((row) => row.name !== slot.name && row.type === route.needs)
    .filter((row) => runners === undefined || runners.includes(row.runner))
    .toSorted(compareCandidates)
}

/** Those of them that also have a model; not those that failed. */
function selectAble(fit: readonly RouteCandidate[]): readonly string[] {
  return fit.filter((row) => isActive(row) && rankOf(row) < 3).map((row) => row.name)
}

const MAX_WORDS_CHARS = 300
/** What frameworks say of a path that they do not know, as whole messages. Anything else may speak of a model or a file. */
const NO_SUCH_PATH = /^(?:file )?not found$|^method not allowed$|^cannot post \/\S*$|^no route\b|^404 page not found$/i

/**
 * Did an engine refuse the route itself, and not this one request? Its own words; undefined = no. llama-server answers 501 to what it was
 * not started for, others 404 or 405 as their web framework does.
 */
export function unsupportedByEngine(status: number, body: string): string | undefined {
  if (status !== 501 && status !== 404 && status !== 405) return undefined
  const words = wordsOf(body)
  if (status === 501) return words === '' ? 'not implemented' : words
  return words === '' || NO_SUCH_PATH.test(words) ? words || 'it has no such path' : undefined
}

/** A page for browsers has no words. */
function wordsOf(body: string): string {
  if (/^\s*</.test(body)) return ''
  return shortText(readEngineSaid(body).message?.trim() ?? '', MAX_WORDS_CHARS)
}
