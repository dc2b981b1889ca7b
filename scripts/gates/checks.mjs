/**
 * The gates that every change passes, in the order they run. Each counts as one test in the totals of `npm test`.
 * Each is proven by a deliberate violation in test/gates/.
 */
export const checks = [
  { name: 'build', command: ['node_modules/.bin/tsc', '-p', 'tsconfig.build.json'] },
  { name: 'typecheck', command: ['node_modules/.bin/tsc', '-p', 'tsconfig.json'] },
  { name: 'typecheck of rules', command: ['node_modules/.bin/tsc', '-p', 'tsconfig.rules.json'] },
  { name: 'import direction', command: ['node', 'scripts/check-imports.mjs'] },
  { name: 'purity of rules', command: ['node', 'scripts/check-purity.mjs'] },
  { name: 'reasons for exceptions', command: ['node', 'scripts/check-reasons.mjs'] },
  { name: 'lint', command: ['node_modules/.bin/oxlint', '--deny-warnings'] },
  { name: 'format', command: ['node_modules/.bin/biome', 'check', '--error-on-warnings', '.'] },
  { name: 'dead code', command: ['node_modules/.bin/knip', '--no-progress', '--no-config-hints'] },
  { name: 'printed error page', command: ['node', 'scripts/print-errors.mjs', '--check'] },
  { name: 'printed configuration page', command: ['node', 'scripts/print-config.mjs', '--check'] },
]
