import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { createHeartbeat, type HeartbeatOptions } from './heartbeat.ts'

function world(options?: HeartbeatOptions) {
  const clock = new ManualClock()
  const sent: string[] = []
  const heartbeat = createHeartbeat(clock, 1_000, (bytes) => sent.push(bytes.toString()), options)
  return { clock, sent, heartbeat }
}

describe('createHeartbeat', () => {
  it('speaks after each silence, and only then', async () => {
    const { clock, sent, heartbeat } = world()
    await clock.advance(5_000)
    expect(sent).toEqual([])
    heartbeat.start()
    await clock.advance(999)
    expect(sent).toEqual([])
    await clock.advance(1)
    expect(sent).toEqual([': hal0 waits for the engine\n\n'])
    await clock.advance(3_000)
    expect(sent).toHaveLength(4)
  })

  it('counts silence from what was sent last', async () => {
    const { clock, sent, heartbeat } = world()
    heartbeat.start()
    for (let i = 0; i < 10; i++) {
      await clock.advance(900)
      heartbeat.touched()
    }
    expect(sent).toEqual([])
    await clock.advance(999)
    expect(sent).toEqual([])
    await clock.advance(1)
    expect(sent).toHaveLength(1)
  })

  it('is silent once it is stopped, also by what it sends', async () => {
    const { clock, sent, heartbeat } = world()
    heartbeat.start()
    heartbeat.start()
    await clock.advance(1_000)
    heartbeat.stop()
    await clock.advance(10_000)
    expect(sent).toHaveLength(1)
    const own = createHeartbeat(clock, 1_000, () => {
      sent.push('x')
      own.stop()
    })
    own.start()
    await clock.advance(10_000)
    expect(sent).toHaveLength(2)
  })

  it('does not speak inside an event', async () => {
    let isBetween = false
    const { clock, sent, heartbeat } = world({ dialect: 'responses', isBetweenEvents: () => isBetween })
    heartbeat.start()
    await clock.advance(5_000)
    expect(sent).toEqual([])
    isBetween = true
    await clock.advance(1_000)
    expect(sent).toHaveLength(1)
  })

  it("speaks Anthropic's word where the client is one of theirs", async () => {
    const { clock, sent, heartbeat } = world({ dialect: 'anthropic' })
    heartbeat.start()
    await clock.advance(1_000)
    expect(sent).toEqual(['event: ping\ndata: {"type": "ping"}\n\n'])
  })
})
