import type { RequestReader } from '../../src/contract/usage.ts'
import { requestFacts } from '../../src/gateway/rules/request-facts.ts'
import type { Log } from '../../src/kernel/log.ts'

/** The lines of `createRequestLog` through any log, one by one: `info(facts, 'request')`. */
export function logRequests(log: Log): RequestReader {
  return (records, usages) =>
    records.forEach((record, n) => {
      const facts = Object.entries(requestFacts(record, usages[n] ?? null))
      log.info(Object.fromEntries(facts.filter(([, value]) => value !== undefined)), 'request')
    })
}
