/** Where a daemon listens everywhere, its address is nobody's to go to. As they stand in a URL. */
const EVERYWHERE: readonly string[] = ['0.0.0.0', '[::]']

/**
 * Under which address do people reach this hal0? What `[server] public_url` says, else the address it listens on. No slash at the end; '' = it
 * does not listen yet. `hostName`: of the machine. Source: SPEC 13 "Notifications", "iCalendar".
 */
export function choosePublicUrl(setting: string | undefined, listenUrl: string, hostName: string): string {
  return setting === undefined ? showUrl(listenUrl, hostName) : new URL(setting).origin
}

/** An http URL as people may be shown it: with the name of the machine where it means every address of it. */
export function showUrl(url: string, hostName: string): string {
  if (url === '') return url
  const { protocol, hostname, port } = new URL(url)
  if (!EVERYWHERE.includes(hostname)) return url
  return `${protocol}//${hostName}${port === '' ? '' : `:${port}`}`
}

/** Is this http or https, a host, and nothing behind it? */
export function isPlainOrigin(text: string): boolean {
  if (!/^https?:\/\/[^/?#@\s\\]+\/?$/i.test(text) || !URL.canParse(text)) return false
  return !EVERYWHERE.includes(new URL(text).hostname)
}
