import type { ApiDialect } from '../contract/api-dialect.ts'
import type { EngineBody } from './body/engine-body.ts'
import type { HeaderLines } from './rules/headers.ts'
import type { InferenceRoute } from './rules/route-table.ts'

/**
 * How an engine's answer reaches the client. `told`: success is renamed and checked, errors are put into the dialect's shape. `raw`: status,
 * headers and bytes as they come (`/upstream`). `media`: a success as in `raw`, but events as in `told`; an error as in `told`.
 */
export type AnswerPlan =
  | {
      readonly kind: 'told'
      readonly dialect: ApiDialect
      readonly askedName: string
      readonly dropsUsageChunk: boolean
    }
  | { readonly kind: 'media'; readonly dialect: ApiDialect; readonly askedName: string }
  | { readonly kind: 'raw' }

/** What goes to the engine, ready to be written. */
export interface EngineRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  /** Made by `engineRequestHeaders`; `host`, `content-length`, `transfer-encoding` and `connection` are the connection's business. */
  readonly headers: HeaderLines
  readonly body: EngineBody
  /** The client asked for a stream. */
  readonly stream: boolean
  readonly answer: AnswerPlan
  /** The route of the contract it answers; absent = none (`/upstream`). An engine that says that it lacks it is believed. */
  readonly route?: InferenceRoute
  /** May it be left unanswered when the engine has not read it? Otherwise the client is told. Only with a body that can be sent again. */
  readonly mayComeAgain: boolean
}
