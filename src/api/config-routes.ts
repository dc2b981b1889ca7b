import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { daemonSettingsPath } from '../config/settings/daemon-settings.ts'
import { configReportSchema } from '../contract/config-report.ts'
import { runnerListSchema } from '../contract/runner.ts'
import { settingsViewSchema } from '../contract/settings.ts'
import { homeAt } from '../files/home.ts'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

const runnersRoute = createRoute({
  method: 'get',
  path: '/api/runners',
  tags: ['system'],
  summary: 'The engine builds that slots can use, and why one cannot be used',
  responses: { 200: jsonAnswer(runnerListSchema, 'One row per runner.'), ...errorResponse },
})

const validateRoute = createRoute({
  method: 'get',
  path: '/api/config/validate',
  tags: ['system'],
  summary: 'Read every settings file afresh and list every mistake',
  responses: { 200: jsonAnswer(configReportSchema, 'The report; no mistakes = an empty list.'), ...errorResponse },
})

const settingsRoute = createRoute({
  method: 'get',
  path: '/api/settings',
  tags: ['system'],
  summary: 'hal0.toml with its defaults, as it is in effect',
  responses: { 200: jsonAnswer(settingsViewSchema, 'Secrets are redacted.'), ...errorResponse },
})

/** Source: SPEC 2, 16. */
export function addConfigRoutes(app: OpenAPIHono<ApiEnv>, { ports, daemon }: ApiContext): void {
  app.openapi(runnersRoute, async (c) => c.json({ runners: [...(await ports.runners())] }, 200))
  app.openapi(validateRoute, async (c) => c.json(await ports.validate(), 200))
  app.openapi(settingsRoute, (c) =>
    // The system-wide home is labelled `/`, and there the folder of settings is the same as below any other.
    c.json({ file: daemonSettingsPath(homeAt(daemon().home)), settings: { ...ports.settings() } }, 200),
  )
}
