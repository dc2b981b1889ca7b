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
  ['lane ls', 'hal0 lane list'],
  ['lane rm', 'hal0 lane delete'],
  ['lane status', 'hal0 lane show'],
  ['lane book', 'hal0 reservation add'],
  ['book', 'hal0 reservation add'],
  ['reservation ls', 'hal0 reservation list'],
  ['reservation create', 'hal0 reservation add'],
  ['reservation rm', 'hal0 reservation cancel'],
  ['reservation delete', 'hal0 reservation cancel'],
  ['reservation move', 'hal0 reservation edit'],
  ['user ls', 'hal0 user list'],
  ['user add', 'hal0 user create'],
  ['user rm', 'hal0 user delete'],
  ['whoami', 'hal0 user whoami'],
  ['key ls', 'hal0 key list'],
  ['key add', 'hal0 key create'],
  ['key rm', 'hal0 key revoke'],
  ['key delete', 'hal0 key revoke'],
])

const OPTIONS_WITH_VALUE: ReadonlySet<string> = new Set(['--home', '--url'])

/** Other words for the nouns of this program. */
const NOUNS: ReadonlyMap<string, string> = new Map([
  ['booking', 'reservation'],
  ['bookings', 'reservation'],
  ['reservations', 'reservation'],
  ['lanes', 'lane'],
  ['users', 'user'],
  ['keys', 'key'],
  ['slots', 'slot'],
  ['models', 'model'],
  ['profiles', 'profile'],
])

/** Which command was probably meant by a command line that begins with words of another program? `isCommand`: is there such a one here? Undefined = nobody knows. Pure. */
export function familiarCommand(
  args: readonly string[],
  isCommand: (noun: string, verb: string) => boolean,
): string | undefined {
  const words = args.filter((word, nth) => !word.startsWith('-') && !OPTIONS_WITH_VALUE.has(args[nth - 1] ?? ''))
  const [first = '', verb] = words
  const noun = NOUNS.get(first)
  const wanted = FAMILIAR.get(`${noun ?? first} ${verb}`)
  if (wanted !== undefined) return wanted
  if (noun !== undefined && verb !== undefined && isCommand(noun, verb)) return `hal0 ${noun} ${verb}`
  // What a noun holds, or another thing: `reservation bookings`, `lane reservations`.
  const things = NOUNS.get(verb ?? '') ?? noun
  if (things !== undefined) return `hal0 ${things} list`
  return FAMILIAR.get(first)
}
