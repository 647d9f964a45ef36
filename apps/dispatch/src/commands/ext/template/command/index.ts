import { greetingOf } from "./adapter.ts";
import type { Host } from "./extension.d.ts";
import { greet } from "./logic.ts";

export function activate(host: Host): void {
  const greeting = greetingOf(host);
  host.defineCommand({
    name: "NAME",
    description: "Greets somebody by name.",
    run: (args) => greet(greeting, args[0] ?? "world"),
  });
}
