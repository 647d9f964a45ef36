import { greetingOf } from "./adapter.ts";
import type { Host } from "./extension.d.ts";
import { greet } from "./logic.ts";

export function activate(host: Host): void {
  const greeting = greetingOf(host);
  host.defineTool({
    name: "NAME",
    description: "Greets somebody by name.",
    parameters: {
      type: "object",
      properties: { name: { type: "string", description: "Whom to greet." } },
      additionalProperties: false,
    },
    execute: (args) => greet(greeting, String(args.name ?? "world")),
  });
}
