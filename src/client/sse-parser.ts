/** One dispatched event of a text/event-stream. */
export interface SseMessage {
  /** `message` when the stream named none. */
  readonly event: string
  /** Lines joined with `\n`. */
  readonly data: string
  /** The last id the stream gave so far; '' = none. */
  readonly lastEventId: string
}

export interface SseParser {
  /** Text as it arrives, cut anywhere. Returns the events that are complete now, in order. */
  push(text: string): readonly SseMessage[]
}

/**
 * Reads server-sent events incrementally, whatever the chunking: `\n`, `\r` and `\r\n` end a line, also when a chunk ends between
 * the two; comments and unknown fields are skipped; an unfinished event at the end of the stream is dropped.
 * Source: WHATWG HTML, 9.2.6 "Interpreting an event stream".
 */
export function createSseParser(): SseParser {
  let atStart = true
  let afterCr = false
  let line = ''
  let event = ''
  let data: string[] = []
  let lastEventId = ''

  function endLine(): SseMessage | undefined {
    const text = line
    line = ''
    if (text === '') return dispatch()
    const colon = text.indexOf(':')
    const field = colon === -1 ? text : text.slice(0, colon)
    const raw = colon === -1 ? '' : text.slice(colon + 1)
    const value = raw.startsWith(' ') ? raw.slice(1) : raw
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id' && !value.includes('\0')) lastEventId = value
    return undefined
  }

  function dispatch(): SseMessage | undefined {
    const message = data.length === 0 ? undefined : { event: event || 'message', data: data.join('\n'), lastEventId }
    event = ''
    data = []
    return message
  }

  return {
    push(text) {
      const messages: SseMessage[] = []
      let from = 0
      if (atStart && text.length > 0) {
        atStart = false
        if (text.startsWith('\uFEFF')) from = 1
      }
      if (afterCr && text.length > from) {
        afterCr = false
        if (text[from] === '\n') from++
      }
      const endings = /\r\n|\r|\n/g
      endings.lastIndex = from
      for (let end = endings.exec(text); end !== null; end = endings.exec(text)) {
        line += text.slice(from, end.index)
        from = endings.lastIndex
        const message = endLine()
        if (message !== undefined) messages.push(message)
      }
      line += text.slice(from)
      if (text.length > 0) afterCr = text.endsWith('\r')
      return messages
    },
  }
}
