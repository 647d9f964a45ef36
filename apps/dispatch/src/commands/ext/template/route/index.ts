import { greetingOf } from "./adapter.ts";
import type { Host } from "./extension.d.ts";
import { greet } from "./logic.ts";

export function activate(host: Host): void {
  const greeting = greetingOf(host);
  host.defineRoute({
    method: "GET",
    path: "/v1/NAME",
    description: "Greets somebody by name.",
    handle: (request) => ({ greeting: greet(greeting, request.query.name ?? "world") }),
  });
}
