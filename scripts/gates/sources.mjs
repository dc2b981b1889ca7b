import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseSync, Visitor } from 'vite'

/** Every file below `folder` (relative to `root`) whose name `matches`, as sorted paths relative to `root`. A missing folder has none. */
export function listFiles(root, folder, matches) {
  const start = join(root, folder)
  if (!existsSync(start)) return []
  return readdirSync(start, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && matches(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !path.split('/').includes('node_modules'))
    .toSorted()
}

/** One parsed source file. `lineOf(node)` counts from 1. A file that does not parse throws, naming the place. */
export function parseFile(root, path) {
  const text = readFileSync(join(root, path), 'utf8')
  const { program, comments, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: does not parse: ${errors[0].message}`)
  const lineOf = (node) => text.slice(0, node.start).split('\n').length
  return { path, program, comments, lineOf }
}

/** Every import of a file in any of its forms: `{ specifier, line }`; `specifier` is undefined where it is not a literal. */
export function importsOf({ program, lineOf }) {
  const found = []
  const add = (node, source) => found.push({ specifier: literalOf(source), line: lineOf(node) })
  const ifFrom = (node) => node.source && add(node, node.source)
  new Visitor({
    ImportDeclaration: ifFrom,
    ExportAllDeclaration: ifFrom,
    ExportNamedDeclaration: ifFrom,
    ImportExpression: (node) => add(node, node.source),
    TSImportType: (node) => add(node, node.source),
    TSExternalModuleReference: (node) => add(node, node.expression),
    CallExpression: (node) => node.callee.name === 'require' && add(node, node.arguments[0]),
  }).visit(program)
  return found
}

function literalOf(node) {
  if (node?.type === 'Literal') return String(node.value)
  if (node?.type === 'TemplateLiteral' && node.expressions.length === 0) return node.quasis[0].value.cooked
  return undefined
}

/**
 * Prints what a check found and sets the exit code. A check that inspected nothing has failed: it would be as quiet on a broken tree.
 * `violations` are lines of the form `path:line: what is wrong`.
 */
export function report(name, inspected, violations) {
  for (const line of violations) console.error(line)
  const nothing = inspected === 0
  if (nothing)
    console.error(`${name}: found no file to inspect below ${process.cwd()}; run it in the folder of package.json`)
  console.log(`${name}: ${inspected} files inspected, ${violations.length} violations`)
  process.exitCode = nothing || violations.length > 0 ? 1 : 0
}
