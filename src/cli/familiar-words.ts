/** What people type who know other programs, and the command that does it here. */
const FAMILIAR: ReadonlyMap<string, string> = new Map([
  ['ps', 'hal0 slot list'],
  ['ls', 'hal0 model list'],
  ['list', 'hal0 model list'],
  ['run', 'hal0 chat'],
  ['pull', 'hal0 model pull'],
  ['rm', 'hal0 model rm'],
  ['stop', 'hal0 slot unload'],
  ['slot ls', 'hal0 slot list'],
  ['slot ps', 'hal0 slot list'],
  ['slot rm', 'hal0 slot delete'],
  ['slot start', 'hal0 slot load'],
  ['slot stop', 'hal0 slot unload'],
  ['model ls', 'hal0 model list'],
  ['model delete', 'hal0 model rm'],
  ['profile ls', 'hal0 profile list'],
  ['profile rm', 'hal0 profile delete'],
])

const OPTIONS_WITH_VALUE: ReadonlySet<string> = new Set(['--home', '--url'])

/** Which command was probably meant by a command line that begins with words of another program? Undefined = nobody knows. Pure. */
export function familiarCommand(args: readonly string[]): string | undefined {
  const words = args.filter((word, nth) => !word.startsWith('-') && !OPTIONS_WITH_VALUE.has(args[nth - 1] ?? ''))
  return FAMILIAR.get(words.slice(0, 2).join(' ')) ?? FAMILIAR.get(words[0] ?? '')
}
