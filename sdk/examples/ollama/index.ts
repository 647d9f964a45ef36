import type { Host } from "dispatch-sdk";
import { events, messages, tools } from "./logic.ts";

export function activate(host: Host): void {
  const url = String(host.settings.url ?? "http://127.0.0.1:11434").replace(/\/$/, "");
  host.defineProvider({
    name: "ollama-native",
    async models() {
      const answer = await host.fetch(`${url}/api/tags`);
      return ((await answer.json()).models ?? []).map((model: { name: string }) => ({ id: model.name }));
    },
    async *stream(request) {
      const { model, system, messages: history, tools: specs, options } = request;
      const body = JSON.stringify({ model, messages: messages(system, history), tools: tools(specs), options, stream: true });
      const answer = await host.fetch(`${url}/api/chat`, { method: "POST", body, stream: true });
      if (!answer.ok) throw new Error(`the server answers with status ${answer.status}`);
      for await (const line of answer.lines()) yield* events(line);
    },
  });
}
