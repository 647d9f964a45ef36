import { prefixOf, saidIn } from "./adapter.ts";
import type { Host } from "./extension.d.ts";
import { reply } from "./logic.ts";

export function activate(host: Host): void {
  const prefix = prefixOf(host);
  host.defineProvider({
    name: "NAME",
    models: ["echo"],
    async *stream(request) {
      yield reply(prefix, saidIn(request.messages));
    },
  });
}
