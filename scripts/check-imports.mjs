// Proves that imports only go down the house (scripts/gates/rooms.mjs). Run in the folder of package.json.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { allowedPairs, levels, narrowed, packagesOf, planned, rulesMayImport } from './gates/rooms.mjs'
import { importsOf, listFiles, parseFile, report } from './gates/sources.mjs'

const root = process.cwd()
const levelOf = new Map(levels.flatMap((rooms, level) => rooms.map((room) => [room, level])))
const isTest = (path) => path.endsWith('.test.ts')
const isRule = (path) => path.split('/').includes('rules') && !isTest(path)
const roomOf = (path) => path.split('/')[1]

/** The file an import means, relative to the root, or undefined. Source files name each other with `.ts`; `.js` is what it compiles to. */
function targetOf(from, specifier) {
  const path = join(dirname(from), specifier)
  return [path, path.replace(/\.([cm]?)js$/, '.$1ts')].find((candidate) => existsSync(join(root, candidate)))
}

function complaintAboutPackage(from, specifier) {
  const name = specifier.startsWith('node:')
    ? specifier
    : specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/')
  if (isTest(from)) return undefined
  const allowed = isRule(from) ? rulesMayImport.packages : packagesOf.get(roomOf(from))
  if (allowed === undefined || allowed.includes(name)) return undefined
  const who = isRule(from) ? 'a rule' : `${roomOf(from)}/`
  return `${who} may not import '${name}' (allowed: ${allowed.join(', ') || 'no package, no node:*'})`
}

function complaintAboutFile(from, target) {
  const [room, other] = [roomOf(from), roomOf(target)]
  if (!target.startsWith('src/')) {
    if (isTest(from) && target.startsWith('test/')) return undefined
    return `product code may not import '${target}', which lies outside src/`
  }
  if (isTest(target)) return `nothing may import the test '${target}'`
  if (isRule(from) && !isRule(target) && !rulesMayImport.rooms.includes(other)) {
    return `a rule may not import '${target}' (allowed: rules, ${rulesMayImport.rooms.join(', ')}, ${rulesMayImport.packages.join(', ')})`
  }
  if (room === other || allowedPairs.has(`${room} -> ${other}`)) return undefined
  const [level, otherLevel] = [levelOf.get(room), levelOf.get(other)]
  if (level === undefined || otherLevel === undefined) return undefined // the unknown room is reported by itself
  if (otherLevel > level)
    return `imports go down only: ${room} may not import ${other} ('${target}'), which stands above it`
  if (otherLevel === level) return `${room} may not import its neighbour ${other} ('${target}')`
  const few = narrowed.get(room)
  if (few !== undefined && !few.includes(other))
    return `${room} may import only ${few.join(', ')}, not ${other} ('${target}')`
  return undefined
}

function complaint(from, specifier) {
  if (specifier === undefined)
    return isTest(from)
      ? undefined
      : 'the imported name is computed, so its direction cannot be checked: write it as a literal'
  if (!specifier.startsWith('.')) return complaintAboutPackage(from, specifier)
  const target = targetOf(from, specifier)
  return target === undefined ? `'${specifier}' does not exist` : complaintAboutFile(from, target)
}

const files = listFiles(root, 'src', (name) => /\.[cm]?[jt]sx?$/.test(name))
const violations = []
for (const path of files) {
  for (const { specifier, line } of importsOf(parseFile(root, path))) {
    const text = complaint(path, specifier)
    if (text !== undefined) violations.push(`${path}:${line}: ${text}`)
  }
}
const present = new Set(files.map(roomOf))
for (const room of present) {
  if (!levelOf.has(room))
    violations.push(`src/${room}:1: this room is not in the table of scripts/gates/rooms.mjs: give it a level`)
  if (planned.includes(room))
    violations.push(`src/${room}:1: this room exists now: strike it from \`planned\` in scripts/gates/rooms.mjs`)
}
for (const room of levelOf.keys()) {
  if (!present.has(room) && !planned.includes(room))
    violations.push(`src/${room}:1: the table of scripts/gates/rooms.mjs names this room, but it has no file`)
}
report('imports', files.length, violations)
