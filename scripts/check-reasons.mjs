// Proves that every comment that switches a check off says why: `// oxlint-disable-next-line RULE -- reason`,
// `// @ts-expect-error: reason`, `// biome-ignore format: reason`. Run in the folder of package.json.
import { listFiles, parseFile, report } from './gates/sources.mjs'

const forms = [
  // Directive, the shape it must have, and how to write it.
  [
    /^\s*(ox|es)lint-disable/,
    /^\s*(ox|es)lint-disable(-next-line|-line)?\s+\S.*?\s--\s+\S{2,}/,
    'oxlint-disable-next-line RULE -- reason',
  ],
  [/^\s*biome-ignore/, /^\s*biome-ignore(-all|-start|-end)?\s+\S+:\s*\S{2,}/, 'biome-ignore format: reason'],
  [/^\s*@ts-expect-error/, /^\s*@ts-expect-error\s*(:|--)\s*\S{2,}/, '@ts-expect-error: reason'],
  [/^\s*@ts-(ignore|nocheck)/, /^\b$/, '@ts-expect-error: reason (it complains once it is no longer needed)'],
]

const root = process.cwd()
const files = ['src', 'test', 'bench', 'scripts'].flatMap((folder) =>
  listFiles(root, folder, (name) => /\.[cm]?[jt]sx?$/.test(name)),
)
const violations = files.flatMap((path) => {
  const { comments, lineOf } = parseFile(root, path)
  return comments.flatMap((comment) =>
    forms
      .filter(([directive, shape]) => directive.test(comment.value) && !shape.test(comment.value))
      .map(([, , form]) => `${path}:${lineOf(comment)}: a check is switched off without a reason: write \`${form}\``),
  )
})
report('reasons', files.length, violations)
