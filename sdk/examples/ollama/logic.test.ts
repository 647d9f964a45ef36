import { equal, test, throws } from "dispatch:test";
import { events, messages, tools } from "./logic.ts";

test("a history is said in the words of the server", () => {
  const history = [
    { role: "user", chunks: [{ type: "text", text: "read a" }] },
    { role: "assistant", chunks: [{ type: "tool_call", id: "1", name: "read", arguments: { path: "a" } }] },
    { role: "user", chunks: [{ type: "tool_result", call: "1", text: "content" }] },
  ];
  equal(messages(["be short"], history), [
    { role: "system", content: "be short" },
    { role: "user", content: "read a" },
    { role: "assistant", content: "", tool_calls: [{ function: { name: "read", arguments: { path: "a" } } }] },
    { role: "tool", content: "content" },
  ]);
  equal(tools([{ name: "read", description: "d", parameters: {}, concurrencySafe: true }]), [
    { type: "function", function: { name: "read", description: "d", parameters: {} } },
  ]);
});

test("each line is what it means", () => {
  equal(events('{"message":{"content":"hi"},"done":false}'), [{ type: "text_delta", text: "hi" }]);
  equal(events('{"message":{"tool_calls":[{"function":{"name":"read","arguments":{"path":"a"}}}]}}'), [
    { type: "tool_call", name: "read", arguments: { path: "a" } },
  ]);
  equal(events('{"done":true,"prompt_eval_count":3,"eval_count":4}'), [{ type: "usage", inputTokens: 3, outputTokens: 4 }]);
  equal(events(" "), []);
  throws(() => events('{"error":"no such model"}'), "no such model");
});
