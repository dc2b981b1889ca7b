import { Template } from '@huggingface/jinja'
import { messageOf } from '../../kernel/errors.ts'
import type { ChatMessage } from './rules/chat-messages.ts'
import { badRequest, EngineError } from './rules/engine-error.ts'
import type { JsonObject } from './rules/read-fields.ts'

/** Used when the file has no template: ChatML, as llama-server does. */
const CHATML =
  "{%- for m in messages -%}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{%- endfor -%}" +
  "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"

/** A model's own chat template, ready to render prompts. */
export interface ChatTemplate {
  /** The Jinja text. */
  readonly source: string
  /** The prompt text of a conversation. Errors: 400 with what the template complained about. */
  render(messages: readonly ChatMessage[], variables: JsonObject): string
}

/** `source` undefined = the file has none. A template that cannot be parsed refuses chat requests, not the model. */
export function createChatTemplate(
  source: string | undefined,
  special: { readonly bos: string; readonly eos: string },
): ChatTemplate {
  const text = source ?? CHATML
  let template: Template | undefined
  let fault = ''
  try {
    template = new Template(text)
  } catch (error) {
    fault = messageOf(error)
  }
  return {
    source: text,
    render(messages, variables) {
      if (template === undefined) {
        throw new EngineError(501, 'not_supported_error', `the model's chat template cannot be used: ${fault}`)
      }
      // A last message of the assistant is the beginning of the answer: the model continues it.
      const last = messages.at(-1)
      const prefill = last?.role === 'assistant' ? last.content : undefined
      const shown = prefill === undefined ? messages : messages.slice(0, -1)
      try {
        const prompt = template.render({
          ...variables,
          messages: shown,
          add_generation_prompt: true,
          bos_token: special.bos,
          eos_token: special.eos,
        })
        return prompt + (prefill ?? '')
      } catch (error) {
        throw badRequest(`the model's chat template refused these messages: ${messageOf(error)}`)
      }
    },
  }
}
