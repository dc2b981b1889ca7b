// Prints the tables of docs/config.md from the schemas of the configuration files; `--check` fails when the page on disk differs.
// The text around the tables is written by hand. Reads the built schemas: run `npm run build` first (`npm run docs:config` does).
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { files } from './config-keys.mjs'

const root = process.cwd()
const page = 'docs/config.md'

function fail(message) {
  console.error(message)
  process.exit(1)
}

/** Every key below a schema as `[path, schema]`; a free table (`env`) is one key, tables that are all alike go on with `*`. */
function keysOf(schema, path = '') {
  const below = (name) => (path === '' ? name : `${path}.${name}`)
  if (schema.properties !== undefined) {
    // `not`: a key that is known only to be refused in good words.
    const children = Object.entries(schema.properties).filter(([, child]) => child.not === undefined)
    const [[, first]] = children
    const areAlike = children.length > 1 && first.type === 'object' && new Set(children.map(asText)).size === 1
    return areAlike ? keysOf(first, below('*')) : children.flatMap(([name, child]) => keysOf(child, below(name)))
  }
  const rows = schema.additionalProperties
  return rows?.type === 'object' ? keysOf(rows, below('*')) : [[path, schema]]
}

const asText = ([, schema]) => JSON.stringify(schema)

function rangeText({ type, minimum, exclusiveMinimum, maximum }) {
  if (type === 'number' && exclusiveMinimum !== undefined) return `, above ${exclusiveMinimum}`
  const low = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + 1)
  const high = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum
  if (high !== undefined) return `, ${low} to ${high}`
  return low === undefined ? '' : `, from ${low}`
}

function typeText(schema) {
  if (schema.anyOf !== undefined) {
    const parts = schema.anyOf.map((one) => (one.const === '' ? 'empty' : typeText(one)))
    return [...new Set(parts)].toReversed().join(' or ')
  }
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`"${value}"\``).join(', ')
  if (schema.prefixItems !== undefined) return `array of ${schema.prefixItems.length} integers`
  if (schema.type === 'array') return `array of ${plural(schema.items)}`
  if (schema.type === 'object') return `table of ${plural(schema.additionalProperties)}`
  if (schema.type === 'string') return schema.pattern?.startsWith('^\\/') ? 'absolute path' : 'string'
  return schema.type + rangeText(schema)
}

function plural(schema) {
  return schema.enum === undefined ? `${schema.type}s` : typeText(schema)
}

async function table(name, { module, schema, keys }) {
  const path = join(root, 'dist', `${module}.js`)
  if (!existsSync(path)) fail(`${path} is missing: run \`npm run build\` first`)
  const exported = (await import(pathToFileURL(path).href))[schema]
  if (exported === undefined) fail(`${path} has no ${schema}: correct scripts/config-keys.mjs`)
  const json = z.toJSONSchema(exported, { io: 'input' })
  const found = keysOf(json)
  const missing = found.filter(([key]) => keys[key] === undefined).map(([key]) => key)
  const unknown = Object.keys(keys).filter((key) => !found.some(([one]) => one === key))
  if (missing.length > 0)
    fail(`${page}: ${name}: scripts/config-keys.mjs does not say what ${missing.join(', ')} means`)
  if (unknown.length > 0)
    fail(`${page}: ${name}: scripts/config-keys.mjs names ${unknown.join(', ')}, which no schema has`)
  const rows = found.map(([key, one]) => {
    const fallback =
      one.default === undefined
        ? json.required?.includes(key)
          ? 'required'
          : '-'
        : `\`${JSON.stringify(one.default)}\``
    return `| \`${key}\` | ${typeText(one)} | ${fallback} | ${keys[key].replaceAll('|', '\\|')} |`
  })
  return { text: ['| key | type | default | meaning |', '|---|---|---|---|', ...rows].join('\n'), count: rows.length }
}

const pagePath = join(root, page)
if (!existsSync(pagePath)) fail(`${page} is missing`)
const before = readFileSync(pagePath, 'utf8')
let text = before
let count = 0
for (const [name, file] of Object.entries(files)) {
  const printed = await table(name, file)
  const [start, end] = [`<!-- printed: ${name} -->`, '<!-- end -->']
  const [from, to] = [text.indexOf(start), text.indexOf(end, text.indexOf(start))]
  if (from === -1 || to === -1) fail(`${page}: expected \`${start}\` and \`${end}\` around the table of ${name}`)
  text = `${text.slice(0, from)}${start}\n${printed.text}\n${text.slice(to)}`
  count += printed.count
}
if (!process.argv.includes('--check')) writeFileSync(pagePath, text)
else if (text !== before) fail(`${page}: differs from the schemas in src/config: run \`npm run docs:config\``)
console.log(`${page}: ${count} keys ${process.argv.includes('--check') ? 'current' : 'printed'}`)
