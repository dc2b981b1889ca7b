// Proves that rules are pure: the same input gives the same answer. tsconfig.rules.json already hides node:*, timers and the DOM;
// this check adds what the language itself lets through (the clock, randomness, ambient state). Run in the folder of package.json.
import { Visitor } from 'vite'
import { listFiles, parseFile, report } from './gates/sources.mjs'

/** What a rule could reach without Node's types. Names that people also give to variables (process, window) are left to tsconfig.rules.json. */
const impureGlobals = new Set(
  `globalThis require eval Function console crypto performance fetch setTimeout setInterval setImmediate queueMicrotask
  clearTimeout clearInterval clearImmediate Intl SharedArrayBuffer Atomics WeakRef FinalizationRegistry`.split(/\s+/),
)
/** Members of Date that read neither clock nor time zone. */
const pureDateMembers = new Set(['UTC'])

function impurities({ program, lineOf }) {
  const found = []
  const add = (node, text) => found.push([lineOf(node), text])
  // Identifiers that were judged together with what stands around them, and names that are no references at all.
  const settled = new Set()
  const skipKey = (node) => !node.computed && settled.add(node.key ?? node.property)
  new Visitor({
    Property: (node) => !node.shorthand && skipKey(node),
    PropertyDefinition: skipKey,
    MethodDefinition: skipKey,
    TSPropertySignature: skipKey,
    TSMethodSignature: skipKey,
    TSTypeReference: (node) => settled.add(node.typeName),
    MemberExpression(node) {
      const name = node.computed ? undefined : node.property.name
      if (!node.computed) settled.add(node.property)
      if (node.object.name === 'Date' && pureDateMembers.has(name)) settled.add(node.object)
      if (node.object.name === 'Math' && name !== undefined && name !== 'random') settled.add(node.object)
    },
    NewExpression: (node) => node.callee.name === 'Date' && node.arguments.length === 1 && settled.add(node.callee),
    MetaProperty: (node) => node.meta.name === 'import' && add(node, 'import.meta depends on where the file lies'),
    Program: (node) =>
      node.body.forEach((statement) => {
        const declaration = statement.declaration ?? statement
        if (declaration.type === 'VariableDeclaration' && declaration.kind !== 'const')
          add(declaration, 'a module-level variable is hidden state')
      }),
    Identifier(node) {
      if (settled.has(node)) return
      if (node.name === 'Date') add(node, 'the clock: take nowMs as an argument (new Date(ms) and Date.UTC are fine)')
      else if (node.name === 'Math') add(node, 'randomness: take the drawn value as an argument')
      else if (impureGlobals.has(node.name)) add(node, `'${node.name}' is an effect or ambient state`)
    },
  }).visit(program)
  return found
}

const root = process.cwd()
const files = listFiles(root, 'src', (name) => name.endsWith('.ts') && !name.endsWith('.test.ts')).filter((path) =>
  path.split('/').includes('rules'),
)
report(
  'purity',
  files.length,
  files.flatMap((path) =>
    impurities(parseFile(root, path)).map(([line, text]) => `${path}:${line}: a rule must be pure: ${text}`),
  ),
)
