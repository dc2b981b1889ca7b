/** Nobody is defined. The token is told here and nowhere else. Source: SPEC 14. */
function openText(setUpToken: string): string {
  return `hal0: no user is defined, so everything is open to this machine and to nobody else. \`hal0 user create NAME --admin\` makes the
  first one; in a browser this token does, once: ${setUpToken}`
}

/** Users were defined and cannot be read. `lock`: why, and what to do, as the daemon says it. Source: SPEC 14. */
export function lockText(lock: string): string {
  return `hal0 is locked. ${lock}`
}

/** What a daemon that has just started says about who may come in, a text each; nothing once users are defined. Source: SPEC 14. */
export function doorTexts(daemon: {
  readonly setUpToken: string | undefined
  readonly lock: string | undefined
}): string[] {
  return [
    ...(daemon.setUpToken === undefined ? [] : [openText(daemon.setUpToken)]),
    ...(daemon.lock === undefined ? [] : [lockText(daemon.lock)]),
  ]
}
