import { readConfigText } from './config-text.ts'
import { configError } from './mistake.ts'
import { type Table } from './rules/table.ts'
import { parseTomlData } from './toml-file.ts'

/** A settings file as text and as the data it means; '' and {} when there is none. No schema is asked. Errors: `config.invalid`. */
export async function readTomlData(path: string): Promise<{ readonly text: string; readonly data: Table }> {
  const text = await readConfigText(path)
  if (text === 'absent') return { text: '', data: {} }
  if (!text.ok) throw configError([text.error])
  const data = parseTomlData(path, text.value)
  if (!data.ok) throw configError([data.error])
  return { text: text.value, data: data.value }
}
