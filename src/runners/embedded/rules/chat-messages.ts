import { badRequest } from './engine-error.ts'
import { isObject, type JsonObject } from './read-fields.ts'

/** One message as a chat template sees it: text content, every other member as it came. */
export interface ChatMessage extends JsonObject {
  readonly role: string
  readonly content: string
}

function textOf(content: unknown, place: string): string {
  if (content === undefined || content === null) return ''
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw badRequest(`'${place}.content' must be a string or an array of parts`)
  const texts = content.map((part: unknown, at) => {
    const type = isObject(part) ? part['type'] : undefined
    const text = isObject(part) ? part['text'] : undefined
    if (type !== 'text') {
      throw badRequest(
        `'${place}.content[${at}]' has type ${JSON.stringify(type) ?? 'none'}; this engine takes "text" only`,
      )
    }
    if (typeof text !== 'string') throw badRequest(`'${place}.content[${at}].text' must be a string`)
    return text
  })
  return texts.join('\n')
}

/** The messages of a chat request, in order, at least one. Errors: 400 naming the message. */
export function readChatMessages(body: JsonObject): readonly ChatMessage[] {
  const messages = body['messages']
  if (messages === undefined || messages === null) throw badRequest("'messages' is required")
  if (!Array.isArray(messages)) throw badRequest("Expected 'messages' to be an array")
  if (messages.length === 0) throw badRequest("'messages' must hold at least one message")
  return messages.map((message: unknown, at) => {
    const place = `messages[${at}]`
    if (!isObject(message)) throw badRequest(`'${place}' must be an object`)
    const role = message['role']
    if (typeof role !== 'string') throw badRequest(`'${place}.role' must be a string`)
    return { ...message, role, content: textOf(message['content'], place) }
  })
}

/** `chat_template_kwargs`: further variables of the template. Errors: 400. */
export function readTemplateVariables(body: JsonObject): JsonObject {
  const variables = body['chat_template_kwargs']
  if (variables === undefined || variables === null) return {}
  if (!isObject(variables)) throw badRequest("'chat_template_kwargs' must be an object")
  return variables
}
