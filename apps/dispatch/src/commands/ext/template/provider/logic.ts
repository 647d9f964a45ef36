// What the extension decides: functions from values to values. No host here, so a test needs nothing but values.

export interface Said {
  role: string;
  text: string;
}

/** What the model answers to a conversation. */
export function reply(prefix: string, said: readonly Said[]): string {
  const last = said.filter((message) => message.role === "user").at(-1);
  return `${prefix}${last?.text ?? ""}`;
}
