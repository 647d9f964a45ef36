import { tell } from "./adapter.ts";
import type { Host } from "./extension.d.ts";
import { summary } from "./logic.ts";

export function activate(host: Host): void {
  host.on("turn.sealed", (turn) => tell(host, summary(turn)));
}
