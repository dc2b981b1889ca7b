// Every line, in the order in which they run: those that need fresh processes come last.
import { abort } from './abort.mjs'
import { body } from './body.mjs'
import { firstChunk } from './first-chunk.mjs'
import { latency } from './latency.mjs'
import { memory } from './memory.mjs'
import { scheduler } from './scheduler.mjs'
import { stalled } from './stalled.mjs'
import { streamed } from './streamed.mjs'
import { swap } from './swap.mjs'
import { throughput } from './throughput.mjs'
import { upload } from './upload.mjs'

export const LINES = [throughput, streamed, latency, firstChunk, body, abort, memory, stalled, upload, scheduler, swap]
