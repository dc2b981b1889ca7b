import { parse } from 'smol-toml'
import { z } from 'zod'

/**
 * The text of a slot file with `[model] default` set to `modelId`; every other byte stays. Undefined = the file is written in a way
 * that this cannot change safely (an inline table, a dotted key, a multi-line value). Pure.
 */
export function bindModelInText(text: string, modelId: string): string | undefined {
  const lines = text.split('\n')
  const table = lines.findIndex((line) => /^\s*\[\s*model\s*\]\s*(#.*)?\r?$/.test(line))
  const value = `default = ${JSON.stringify(modelId)}`
  if (table === -1) {
    lines.splice(lines.length, 0, '[model]', value, '')
  } else {
    const after = lines.slice(table + 1)
    const end = after.findIndex((line) => /^\s*\[/.test(line))
    const body = end === -1 ? after : after.slice(0, end)
    const key = body.findIndex((line) => /^\s*default\s*=/.test(line))
    if (key === -1) lines.splice(table + 1, 0, value)
    else lines[table + 1 + key] = value + (/(\s+#.*)$/.exec(withoutString(body[key] ?? ''))?.[1] ?? '')
  }
  const changed = lines.join('\n')
  return boundModel(changed) === modelId ? changed : undefined
}

/** The comment of a line must not be looked for inside its value. */
function withoutString(line: string): string {
  return line.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/, '""')
}

const boundSchema = z.object({ model: z.object({ default: z.string() }) })

function boundModel(text: string): string | undefined {
  try {
    return boundSchema.safeParse(parse(text)).data?.model.default
  } catch {
    return undefined
  }
}
