// What the extension does with the host: the one place that reads settings, files, the network or the store.

import type { Host } from "./extension.d.ts";

export function wordsOf(host: Host): string[] {
  const words: unknown = host.settings.words;
  return Array.isArray(words) ? words.map(String) : ["password"];
}
