import type { Host } from "dispatch-sdk";
import { redact } from "./logic.ts";

export function activate(host: Host): void {
  const given: unknown = host.settings.keep;
  const keep = Array.isArray(given) ? given.map(String) : [];
  // Late, so that it sees what other filters made of the result.
  host.addFilter("tool.after", (value) => {
    const { text, counts } = redact(String(value.result.text), keep);
    if (Object.keys(counts).length === 0) return undefined;
    host.logger.info(`took out of a result of ${value.call.name}`, counts);
    return { ...value, result: { ...value.result, text } };
  }, { priority: -50 });
}
