// What the extension does with the host: the one place that reads settings, files, the network or the store.

import type { Host } from "./extension.d.ts";
import type { Said } from "./logic.ts";

export function prefixOf(host: Host): string {
  return String(host.settings.prefix ?? "You said: ");
}

/** The texts of a request, without its other parts. */
export function saidIn(messages: readonly any[]): Said[] {
  const textOf = (chunk: any): string => (chunk.type === "text" ? String(chunk.text) : "");
  return messages.map((message) => ({ role: String(message.role), text: (message.chunks ?? []).map(textOf).join("") }));
}
