import { join } from 'node:path'
import { expect, it } from 'vitest'
import { homeAt } from '../files/home.ts'
import { findDaemon } from './find-daemon.ts'

it("names the system's folders in words: `/` would read as if all of the machine were meant", async () => {
  const system = { ...homeAt('/nowhere'), label: '/' }
  const lookup = await findDaemon({ env: {}, home: system })
  expect(lookup).toEqual({
    kind: 'none',
    reason: 'no_file',
    message: `No hal0 daemon runs in the system's folders (there is no ${join(system.varLib, 'daemon.json')}).`,
  })
})
