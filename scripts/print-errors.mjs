// Prints docs/errors.md from the error registry; `--check` fails when the page on disk is not what the registry says.
// Reads the built registry: run `npm run build` first (`npm run docs:errors` does).
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const root = process.cwd()
const registryPath = join(root, 'dist/kernel/error-registry.js')
const pagePath = join(root, 'docs/errors.md')
if (!existsSync(registryPath)) {
  console.error(`${registryPath} is missing: run \`npm run build\` first`)
  process.exit(1)
}
const { errorRegistry } = await import(pathToFileURL(registryPath).href)

function page(registry) {
  const rows = Object.entries(registry).map(
    ([code, { status, retry, type, remedy }]) =>
      `| \`${code}\` | ${status} | \`${type}\` | ${retry === 'after' ? 'yes' : 'no'} | ${remedy.replaceAll('|', '\\|')} |`,
  )
  return `# Errors

Printed from \`src/kernel/error-registry.ts\` by \`npm run docs:errors\`; do not edit it by hand.

Every error, on every route, has this body; the official OpenAI clients parse it:

\`\`\`json
{"error": {"message": "what happened, and where", "type": "server_error", "param": null, "code": "slot.loading", "details": {}}}
\`\`\`

**Retry** says whether waiting helps. "Yes": the answer carries \`Retry-After\` in whole seconds. "No": someone has to act first.

| code | status | type | retry | what to do |
|---|---|---|---|---|
${rows.join('\n')}
`
}

const rows = Object.keys(errorRegistry).length
const text = page(errorRegistry)
if (rows === 0) {
  console.error(`${registryPath} holds no error code`)
  process.exitCode = 1
} else if (process.argv.includes('--check')) {
  const current = existsSync(pagePath) && readFileSync(pagePath, 'utf8') === text
  if (current) console.log(`docs/errors.md: current, ${rows} codes`)
  else console.error('docs/errors.md: differs from src/kernel/error-registry.ts: run `npm run docs:errors`')
  process.exitCode = current ? 0 : 1
} else {
  writeFileSync(pagePath, text)
  console.log(`docs/errors.md: ${rows} codes printed`)
}
