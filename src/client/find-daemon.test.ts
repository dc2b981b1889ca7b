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

it.each(['http://box:8080/v1', 'http://box:8080/v1/'])(
  '%s is for other clients: says which one is meant',
  async (url) => {
    const lookup = await findDaemon({ env: { HAL0_API_URL: url }, home: homeAt('/nowhere') })
    expect(lookup).toMatchObject({
      kind: 'none',
      reason: 'bad_url',
      message: expect.stringMatching(/: http:\/\/box:8080\.$/),
    })
  },
)
