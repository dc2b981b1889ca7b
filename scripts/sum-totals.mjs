// Prints `N passed, N failed` over the parts of a CI run, as its last line:
//
//   node scripts/sum-totals.mjs FOLDER NAME=EXITCODE...
//
// FOLDER/NAME.json holds the totals of a part that counted its tests (scripts/test.mjs writes it); a part without one counts as one test.
// A part that ended badly counts as failed whatever its file says.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sumTotals } from './gates/totals.mjs'

const [folder = '', ...parts] = process.argv.slice(2)

function totalsOfPart(text) {
  const [name, code] = text.split('=')
  const path = join(folder, `${name}.json`)
  const counted = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
  if (code === '0') return counted ?? { passed: 1, failed: 0, skipped: [], complaints: [] }
  if (counted?.failed > 0) return counted
  const complaints = [...(counted?.complaints ?? []), `${name}: ended with exit code ${code}`]
  return { passed: counted?.passed ?? 0, failed: 1, skipped: counted?.skipped ?? [], complaints }
}

const { passed, failed, complaints } = sumTotals(parts.map(totalsOfPart))
for (const text of complaints) console.log(text)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
