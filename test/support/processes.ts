import { readdir, readFile } from 'node:fs/promises'

/**
 * Pids of live processes that have `text` in their command line or environment: what a test started in its own folder can be told from
 * everybody else's by the folder's name. Zombies do not count.
 */
export async function processesMentioning(text: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number)
  const found = await Promise.all(
    pids.map(async (pid) => {
      if (pid === process.pid) return false
      const [stat, cmdline, environ] = await Promise.all(
        ['stat', 'cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')),
      )
      const isZombie = /^\d+ \(.*\) Z/s.test(stat ?? '')
      return !isZombie && `${cmdline}${environ}`.includes(text)
    }),
  )
  return pids.filter((_pid, index) => found[index])
}
