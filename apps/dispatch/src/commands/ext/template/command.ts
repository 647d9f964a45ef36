import type { Host } from "./extension.d.ts";
import { greet } from "./logic.ts";

export function activate(host: Host): void {
  const greeting = String(host.settings.greeting ?? "Hello");
  host.defineCommand({
    name: "NAME",
    description: "Greets somebody by name.",
    async run(args) {
      return greet(greeting, args[0] ?? "world");
    },
  });
}
