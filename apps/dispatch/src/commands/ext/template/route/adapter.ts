// What the extension does with the host: the one place that reads settings, files, the network or the store.

import type { Host } from "./extension.d.ts";

export function greetingOf(host: Host): string {
  return String(host.settings.greeting ?? "Hello");
}
