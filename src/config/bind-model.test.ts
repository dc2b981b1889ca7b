import { describe, expect, it } from 'vitest'
import { bindModelInText } from './bind-model.ts'

describe('bindModelInText', () => {
  it.each([
    {
      name: 'replaces the value and keeps comments, order and the other tables',
      before:
        '# mine\nname = "agent"\n\n[model]\n# an id\ndefault = "hello"  # bundled\n\n[server]\nenv = { A = "[model]" }\n',
      after:
        '# mine\nname = "agent"\n\n[model]\n# an id\ndefault = "big"  # bundled\n\n[server]\nenv = { A = "[model]" }\n',
    },
    {
      name: 'adds the key to a table that lacks it',
      before: 'name = "agent"\n[model]\n[server]\nenv = {}\n',
      after: 'name = "agent"\n[model]\ndefault = "big"\n[server]\nenv = {}\n',
    },
    {
      name: 'adds the table to a file without one',
      before: 'name = "agent"\n',
      after: 'name = "agent"\n\n[model]\ndefault = "big"\n',
    },
    {
      name: 'does not take a # inside the old value for a comment',
      before: "[model]\ndefault = 'a #b'\n",
      after: '[model]\ndefault = "big"\n',
    },
    {
      name: 'leaves a key of that name in another table alone',
      before: '[server]\ndefault = "x"\n[model]\ndefault = "y"\n',
      after: '[server]\ndefault = "x"\n[model]\ndefault = "big"\n',
    },
  ])('$name', ({ before, after }) => {
    expect(bindModelInText(before, 'big')).toBe(after)
  })

  it.each([
    { name: 'an inline table', text: 'model = { default = "hello" }\n' },
    { name: 'a dotted key', text: 'model.default = "hello"\n' },
    { name: 'a multi-line value', text: '[model]\ndefault = """\nhello"""\n' },
    { name: 'text that is not TOML', text: 'name = \n' },
  ])('refuses $name', ({ text }) => {
    expect(bindModelInText(text, 'big')).toBeUndefined()
  })
})
