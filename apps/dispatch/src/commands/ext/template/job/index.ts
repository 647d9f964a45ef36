import { readCount, writeCount } from "./adapter.ts";
import type { Host } from "./extension.d.ts";
import { next } from "./logic.ts";

export function activate(host: Host): void {
  const count = async () => writeCount(host, next(await readCount(host)));
  host.scheduler.register({ name: "NAME", everyMs: 60_000, run: count });
  host.defineCommand({
    name: "NAME",
    description: "Counts once more and says how often the job ran.",
    run: async () => {
      await count();
      return readCount(host);
    },
  });
}
