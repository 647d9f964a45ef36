// What the extension does with the host: the one place that reads settings, files, the network or the store.

import type { Host } from "./extension.d.ts";
import type { Count } from "./logic.ts";

export async function readCount(host: Host): Promise<Count | null> {
  return (await host.storage("counts").get("count")) as Count | null;
}

export async function writeCount(host: Host, count: Count): Promise<void> {
  await host.storage("counts").set("count", { runs: count.runs });
}
