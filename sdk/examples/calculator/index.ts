import type { Host } from "dispatch-sdk";
import { calculate } from "./logic.ts";

export function activate(host: Host): void {
  host.defineTool({
    name: "calculate",
    description: "Calculates an expression with + - * / % ^, brackets, abs, ceil, floor, ln, max, min, round, sqrt, pi and e.",
    parameters: {
      type: "object",
      properties: { expression: { type: "string", description: "For example `(1.5 + 2) * 3^2`." } },
      required: ["expression"],
      additionalProperties: false,
    },
    concurrencySafe: true,
    execute: (args) => String(calculate(String(args.expression))),
  });
}
