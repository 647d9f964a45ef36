// What the extension decides: functions from values to values. No host here, so a test needs nothing but values.

export function hide(text: string, words: readonly string[]): string {
  return words.reduce((hidden, word) => (word === "" ? hidden : hidden.split(word).join("[hidden]")), text);
}
