// What the extension does with the host: the one place that reads settings, files, the network or the store.

import type { Host } from "./extension.d.ts";

export function tell(host: Host, text: string): void {
  host.logger.warn(text);
}
