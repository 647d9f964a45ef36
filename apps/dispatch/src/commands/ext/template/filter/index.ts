import { wordsOf } from "./adapter.ts";
import type { Host } from "./extension.d.ts";
import { hide } from "./logic.ts";

export function activate(host: Host): void {
  const words = wordsOf(host);
  host.addFilter("tool.after", (value) => {
    const text = hide(String(value.result.text), words);
    return { ...value, result: { ...value.result, text } };
  });
}
