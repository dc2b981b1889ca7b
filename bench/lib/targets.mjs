// What the bench promises: every row of the table, its gate and its goal. The only place where these numbers are.

/**
 * @typedef {{ times: number, of: 'bare' | 'nginx' | 'direct' | 'engine' | 'one lane' } | { atMost: number }} Bound Of another side of the same run, or an amount in the row's unit.
 * @typedef {object} Row
 * @property {string} line
 * @property {string} key of the rounds' numbers
 * @property {string} name
 * @property {string} unit
 * @property {true} [isMoreBetter]
 * @property {true} [isAdded] bounds compare what a side adds to direct
 * @property {number} [leastBase] what a side adds counts as at least this: below, it is noise of the clock
 * @property {Bound} [gate] CI fails when it is missed
 * @property {Bound} [goal]
 */

const BARE = (/** @type {number} */ times) => /** @type {const} */ ({ times, of: 'bare' })
const NGINX = (/** @type {number} */ times) => /** @type {const} */ ({ times, of: 'nginx' })
/** Of a process of its own, on another core: less than this is the scheduler. */
const LEAST_ADDED_MS = 0.05

/** Per lane that is touched, beside a timetable of one lane. */
const ONE_LANE = /** @type {const} */ ({ times: 2, of: 'one lane' })

/** Less than this is how near to the processor the lanes' objects are: those of one lane never leave its caches. */
const LEAST_REQUEST_NS = 500

/** Flat memory: 75 MB more in a file may move the moment of a garbage collection, no more. */
const FLAT_MIB = 16

/** @type {readonly Row[]} */
export const ROWS = [
  {
    line: 'throughput',
    key: 'per_s',
    name: 'requests/s, 32 connections',
    unit: '1/s',
    isMoreBetter: true,
    gate: BARE(0.8),
    goal: BARE(1.2),
  },
  {
    line: 'streamed',
    key: 'mib_s',
    name: 'streamed, 256 chunks an answer',
    unit: 'MiB/s',
    isMoreBetter: true,
    gate: BARE(2),
    goal: NGINX(0.7),
  },
  {
    line: 'latency',
    key: 'p50',
    name: 'latency p50 at 500/s',
    unit: 'ms',
    isAdded: true,
    leastBase: LEAST_ADDED_MS,
    gate: BARE(1.5),
    goal: NGINX(2),
  },
  {
    line: 'latency',
    key: 'p99',
    name: 'latency p99 at 500/s',
    unit: 'ms',
    isAdded: true,
    leastBase: LEAST_ADDED_MS,
    gate: BARE(1.5),
    goal: NGINX(3),
  },
  {
    line: 'first-chunk',
    key: 'first_p50',
    name: 'first chunk p50, 100 streams × 50/s',
    unit: 'ms',
    isAdded: true,
    leastBase: LEAST_ADDED_MS,
    gate: BARE(1.5),
    goal: NGINX(3),
  },
  {
    line: 'first-chunk',
    key: 'chunk_p50',
    name: 'age of a chunk p50',
    unit: 'ms',
    isAdded: true,
    leastBase: LEAST_ADDED_MS,
  },
  {
    line: 'first-chunk',
    key: 'chunk_p99',
    name: 'age of a chunk p99',
    unit: 'ms',
    isAdded: true,
    leastBase: LEAST_ADDED_MS,
  },
  {
    line: 'first-chunk',
    key: 'chunks_per_read',
    name: 'chunks in one read',
    unit: '',
    gate: BARE(1.1),
    goal: NGINX(1.05),
  },
  {
    line: 'memory',
    key: 'stream_kib_1000',
    name: 'memory per stream at 1,000',
    unit: 'KiB',
    gate: BARE(1.2),
    goal: NGINX(1),
  },
  {
    line: 'memory',
    key: 'stream_kib_5000',
    name: 'memory per stream at 5,000',
    unit: 'KiB',
    gate: BARE(1.2),
    goal: NGINX(1),
  },
  { line: 'body', key: 'ms', name: '20 MB JSON body', unit: 'ms', gate: BARE(1.3), goal: BARE(1.1) },
  { line: 'upload', key: 'grown_mib', name: 'memory, 25 MB audio uploads', unit: 'MiB' },
  {
    line: 'upload',
    key: 'more_mib',
    name: 'more memory, four times the file',
    unit: 'MiB',
    gate: { atMost: FLAT_MIB },
  },
  {
    line: 'swap',
    key: 'ms',
    name: 'swap of a model, to the first chunk',
    unit: 'ms',
    gate: { times: 2, of: 'engine' },
    goal: { times: 1.15, of: 'engine' },
  },
  {
    line: 'stalled',
    key: 'grown_mib',
    name: 'memory, 100 clients that stop reading',
    unit: 'MiB',
    gate: BARE(1.3),
    goal: BARE(1),
  },
  { line: 'abort', key: 'before_p50', name: 'abort seen p50, before the first byte', unit: 'ms' },
  {
    line: 'abort',
    key: 'before_max',
    name: 'abort seen max, before the first byte',
    unit: 'ms',
    gate: { atMost: 250 },
  },
  { line: 'abort', key: 'mid_p50', name: 'abort seen p50, mid-stream', unit: 'ms' },
  { line: 'abort', key: 'mid_max', name: 'abort seen max, mid-stream', unit: 'ms', gate: { atMost: 250 } },
  {
    line: 'scheduler',
    key: 'tick_us',
    name: 'tick of one lane, of 200 with 50,000 reservations',
    unit: 'µs',
    gate: ONE_LANE,
  },
  {
    line: 'scheduler',
    key: 'tick_all_us',
    name: 'ticks of all 200 lanes at once, per lane',
    unit: 'µs',
    gate: ONE_LANE,
  },
  {
    line: 'scheduler',
    key: 'change_ms',
    name: 'bookings end or start on all lanes at once, per lane',
    unit: 'ms',
    gate: ONE_LANE,
  },
  {
    line: 'scheduler',
    key: 'book_ms',
    name: 'making a booking',
    unit: 'ms',
    gate: ONE_LANE,
  },
  {
    line: 'scheduler',
    key: 'book_cpu_ms',
    name: 'making a booking, processor only',
    unit: 'ms',
    gate: ONE_LANE,
  },
  {
    line: 'scheduler',
    key: 'check_ms',
    name: 'check of a booking',
    unit: 'ms',
    gate: ONE_LANE,
  },
  {
    line: 'scheduler',
    key: 'request_ns',
    name: 'a request at the door of a lane',
    unit: 'ns',
    leastBase: LEAST_REQUEST_NS,
    gate: ONE_LANE,
    goal: { atMost: 2000 },
  },
]
