/** @typedef {{ passed: number, failed: number, skipped: readonly string[], complaints: readonly string[] }} Totals */

const REASON_LINES = 16
const REASON_CHARS = 400

/**
 * What one vitest run amounts to. `report` is its JSON report, or undefined when it left none; `exitCode` is null when it was killed.
 * A suite that crashed, a file that could not be loaded and a project without a single test count as failed: silence is no success.
 * With `skipsFail` a skipped test counts as failed too.
 * @returns {Totals}
 */
export function totalsOf(name, report, exitCode, skipsFail) {
  const suites = report?.testResults ?? []
  const cases = suites.flatMap((suite) => suite.assertionResults)
  const passed = cases.filter((one) => one.status === 'passed').length
  const skipped = cases.filter((one) => !['passed', 'failed'].includes(one.status)).map((one) => one.fullName)
  const failures = cases.filter((one) => one.status === 'failed')
  const complaints = failures.map((one) => `${name}: failed: ${one.fullName}${reasonOf(one)}`)
  let failed = failures.length
  const complain = (text) => {
    failed++
    complaints.push(`${name}: ${text}`)
  }
  for (const suite of suites) {
    const blamed = suite.assertionResults.some((one) => one.status === 'failed')
    if (suite.status === 'failed' && !blamed) complain(`${suite.name} failed outside its tests`)
  }
  if (report === undefined) complain('the run left no report, so it crashed')
  else if (cases.length === 0 && failed === 0) complain('no test was found')
  if (exitCode !== 0 && failed === 0) complain(`the run ended with exit code ${exitCode} although no test failed`)
  if (skipsFail) for (const one of skipped) complain(`skipped, which is not allowed here: ${one}`)
  return { passed, failed, skipped, complaints }
}

/** Why it failed, shortened: the end of a long log is often all of it that is kept. */
function reasonOf({ failureMessages = [] }) {
  const lines = failureMessages.join('\n').split('\n')
  const told = lines.slice(0, REASON_LINES).map((line) => `\n    ${line.slice(0, REASON_CHARS)}`)
  return told.join('') + (lines.length > REASON_LINES ? '\n    …' : '')
}

/** Adds totals up. @param {readonly Totals[]} parts @returns {Totals} */
export function sumTotals(parts) {
  return {
    passed: parts.reduce((sum, part) => sum + part.passed, 0),
    failed: parts.reduce((sum, part) => sum + part.failed, 0),
    skipped: parts.flatMap((part) => part.skipped),
    complaints: parts.flatMap((part) => part.complaints),
  }
}
