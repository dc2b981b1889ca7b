import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { OPEN_ROUTES } from '../../src/access/rules/route-access.ts'

it('docs/access.md prints the routes that are open without a key', () => {
  const page = readFileSync(new URL('../../docs/access.md', import.meta.url), 'utf8')
  const [, printed = ''] = /<!-- open routes -->\n([\s\S]*?)<!-- end -->/.exec(page) ?? []
  expect([...printed.matchAll(/^- `(.+)`$/gm)].map(([, route]) => route)).toEqual(
    OPEN_ROUTES.map(({ method, path }) => `${method} ${path}`),
  )
})
