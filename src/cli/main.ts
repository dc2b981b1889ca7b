#!/usr/bin/env node
// Nothing but Node itself is loaded before the version is known: the rest may not even parse on an older one.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`hal0: this is Node.js ${process.versions.node}; hal0 needs 20.19 or newer\n`)
  process.exit(1)
}
const { leaveLostTerminal, tolerateLostOutput } = await import('./lost-output.ts')
tolerateLostOutput()
const { runCommandLine } = await import('./program.ts')
const exitCode = await runCommandLine(process.argv.slice(2))
// Errors of the last writes are reported in the next turn of the event loop.
await new Promise((resolve) => setImmediate(resolve))
leaveLostTerminal()
process.exit(exitCode)
