// Our messages in the words of Ollama's own protocol, and its lines in ours.

export interface OllamaMessage {
  role: string;
  content: string;
  tool_calls?: { function: { name: string; arguments: unknown } }[];
}

export function messages(system: readonly string[], history: readonly any[]): OllamaMessage[] {
  const first = system.length === 0 ? [] : [{ role: "system", content: system.join("\n\n") }];
  return [...first, ...history.flatMap(translated)];
}

function translated(message: any): OllamaMessage[] {
  const chunks: any[] = message.chunks ?? [];
  const of = (type: string): any[] => chunks.filter((chunk) => chunk.type === type);
  const content = of("text").map((chunk) => chunk.text).join("");
  const calls = of("tool_call").map((call) => ({ function: { name: call.name, arguments: call.arguments } }));
  const results = of("tool_result").map((result) => ({ role: "tool", content: String(result.text) }));
  if (content === "" && calls.length === 0) return results;
  return [{ role: message.role, content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }, ...results];
}

export const tools = (specs: readonly any[]): unknown[] =>
  specs.map(({ name, description, parameters }) => ({ type: "function", function: { name, description, parameters } }));

/** The events that one line of the answer means. */
export function events(line: string): any[] {
  if (line.trim() === "") return [];
  const said = JSON.parse(line);
  if (typeof said.error === "string") throw new Error(said.error);
  const found: any[] = [];
  if (said.message?.thinking) found.push({ type: "reasoning_delta", text: said.message.thinking });
  if (said.message?.content) found.push({ type: "text_delta", text: said.message.content });
  for (const { function: called } of said.message?.tool_calls ?? [])
    found.push({ type: "tool_call", name: called.name, arguments: called.arguments ?? {} });
  if (said.done)
    found.push({ type: "usage", inputTokens: said.prompt_eval_count ?? 0, outputTokens: said.eval_count ?? 0 });
  return found;
}
