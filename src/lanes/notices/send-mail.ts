import type { SMTPTransportOptions } from 'nodemailer'
import type { DaemonSettings } from '../../config/settings/daemon-settings.ts'
import { errnoOf } from '../../kernel/errors.ts'
import { failureText } from './failure-text.ts'
import type { SendOutcome } from './rules/next-delivery.ts'

export type MailSettings = NonNullable<DaemonSettings['notify']['smtp']>

export interface Mail {
  /** A bare address. */
  readonly to: string
  readonly subject: string
  readonly text: string
  /** Without the brackets and the domain. */
  readonly id: string
}

/**
 * Sends one plain text mail on a connection of its own. What the server has refused for good (5xx about sender, receiver or message) is `refused`.
 * Never rejects; `signal` ends it. Source: SPEC 13.
 */
export async function sendMail(
  smtp: MailSettings,
  mail: Mail,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<SendOutcome> {
  try {
    // Loaded with the first mail: most homes never send one.
    const { createTransport } = await import('nodemailer')
    const transport = createTransport(transportOptions(smtp, timeoutMs))
    await transport.sendMail({
      from: smtp.from,
      // As an object: nothing in it is read as a second address.
      to: { name: '', address: mail.to },
      subject: mail.subject,
      text: mail.text,
      messageId: `<${mail.id}@${domainOf(smtp.from)}>`,
      // Absence notices and the like need not answer. RFC 3834.
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal,
    })
    return { kind: 'sent' }
  } catch (thrown) {
    const { user, password } = smtp
    const pair = password === undefined ? undefined : `\0${user ?? ''}\0${password}`
    const reason = failureText(signal.aborted ? signal.reason : thrown, [pair, password])
    return { kind: isFinal(thrown) ? 'refused' : 'failed', reason }
  }
}

function transportOptions(smtp: MailSettings, timeoutMs: number): SMTPTransportOptions {
  const { host, port, user, password, tls } = smtp
  return {
    host,
    port,
    secure: tls === 'tls',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'off',
    ...(user === undefined ? {} : { auth: { user, pass: password ?? '' } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    logger: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/** `hal0 <gpu@example.org>` → `example.org`. */
function domainOf(from: string): string {
  return /@([A-Za-z0-9.-]+)>?\s*$/.exec(from)?.[1] ?? 'hal0'
}

/** Of the codes of nodemailer: a refused sign-in is not among them, as an admin may mend the settings. */
function isFinal(thrown: unknown): boolean {
  const code = errnoOf(thrown)
  if (code !== 'EENVELOPE' && code !== 'EMESSAGE') return false
  const status = thrown instanceof Error && 'responseCode' in thrown ? Number(thrown.responseCode) : 0
  // 503 speaks of the order of commands, not of the mail.
  return status >= 500 && status < 600 && status !== 503
}
