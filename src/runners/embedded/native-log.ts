import { LlamaLogLevel } from 'node-llama-cpp'

const KEPT_LINES = 50

/** Takes what llama.cpp itself says. */
export interface NativeLog {
  write(level: LlamaLogLevel, message: string): void
}

/** Passes llama.cpp's words on to `stderr` and keeps its last complaints in `errors`, to explain a failed load. */
export function createNativeLog(stderr: { write(text: string): unknown }, errors: string[]): NativeLog {
  return {
    write(level, message) {
      for (const line of message.split('\n')) {
        if (line.trim() === '') continue
        stderr.write(`llama.cpp ${level}: ${line}\n`)
        if (level === LlamaLogLevel.error || level === LlamaLogLevel.fatal) {
          errors.push(line.trim())
          if (errors.length > KEPT_LINES) errors.shift()
        }
      }
    },
  }
}
