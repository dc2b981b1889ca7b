import { isLoopbackHost } from './authority.ts'

export type BindDecision =
  | {
      readonly kind: 'ok'
      /** To be told at the start. */
      readonly warning?: string
    }
  | { readonly kind: 'refused'; readonly message: string; readonly remedy: string }

/**
 * May the daemon listen at `host`? Without users everything is open, so only this machine may reach it, unless somebody insists. `hasUsers`: also
 * where users were defined and cannot be read: nobody gets in then. Source: SPEC 14.
 */
export function decideBind(
  host: string,
  { hasUsers, insecure }: { readonly hasUsers: boolean; readonly insecure: boolean },
): BindDecision {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  if (hasUsers) {
    if (!insecure) return { kind: 'ok' }
    return { kind: 'ok', warning: '--insecure changes nothing: users are defined, so every request needs a key' }
  }
  if (isLoopbackHost(name.toLowerCase())) return { kind: 'ok' }
  if (insecure) {
    return {
      kind: 'ok',
      warning: `--insecure: no user is defined, and everybody who reaches ${host} may do everything, as this machine's own admin`,
    }
  }
  return {
    kind: 'refused',
    message: `[server] host ${host} is not a loopback address, and no user is defined`,
    remedy:
      'Bind to 127.0.0.1, start hal0, and make an admin (`hal0 user create NAME --admin`); then any address will do. Or reach hal0 from elsewhere through SSH or a tunnel. --insecure opens it to everybody who reaches that address.',
  }
}
