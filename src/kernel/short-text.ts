/** At most `maxChars` of a text (UTF-16 units), and a `…` where something was left out. For words of strangers in messages of ours. */
export function shortText(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text
}
