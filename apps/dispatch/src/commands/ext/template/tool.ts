import type { Host } from "./extension.d.ts";
import { greet } from "./logic.ts";

export function activate(host: Host): void {
  const greeting = String(host.settings.greeting ?? "Hello");
  host.defineTool({
    name: "NAME",
    description: "Greets somebody by name.",
    parameters: {
      type: "object",
      properties: { name: { type: "string", description: "Whom to greet." } },
      additionalProperties: false,
    },
    async execute(args) {
      return greet(greeting, String(args.name ?? "world"));
    },
  });
}
