// Talks to `dispatch serve` with OpenAI's own client for JavaScript; prints one JSON line per answer.
import { createRequire } from "node:module";

const [installed, baseURL, apiKey] = process.argv.slice(2);
const OpenAI = createRequire(`${installed}/`)("openai").OpenAI;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const tell = (name, value) => console.log(JSON.stringify({ name, value }));

const models = [];
for await (const model of client.models.list()) models.push(model.id);
tell("models", models);

const messages = [{ role: "user", content: "hello" }];
const whole = await client.chat.completions.create({ model: "dispatch", messages });
const { message, finish_reason } = whole.choices[0];
tell("whole", [whole.object, message.role, message.content, finish_reason, whole.usage.total_tokens >= 0]);

const options = { headers: { "X-Dispatch-Session": "javascript" } };
const stream = await client.chat.completions.create(
  { model: "dispatch", messages, stream: true, stream_options: { include_usage: true } }, options);
const pieces = [];
for await (const piece of stream) pieces.push(piece);
const choices = pieces.flatMap((piece) => piece.choices);
const text = choices.map((choice) => choice.delta.content ?? "").join("");
const reasons = choices.map((choice) => choice.finish_reason).filter(Boolean);
const spoken = choices.filter((choice) => choice.delta.content).length;
tell("stream", [text, choices[0].delta.role, reasons, pieces.at(-1).usage != null, spoken > 1,
  new Set(pieces.map((piece) => piece.id)).size]);

const asked = [{ role: "user", content: "what did I say" }];
const again = await client.chat.completions.create({ model: "dispatch", messages: asked }, options);
tell("again", again.choices[0].message.content);

tell("helper", await client.chat.completions.stream({ model: "dispatch", messages }).finalContent());

const refused = async (name, base, key, said) => {
  try {
    const other = new OpenAI({ baseURL: base, apiKey: key, maxRetries: 0 });
    await other.chat.completions.create({ model: "dispatch", messages: said });
  } catch (error) {
    tell(name, [error.constructor.name, Boolean(error.message)]);
  }
};
await refused("token", baseURL, "wrong", messages);
await refused("path", `${baseURL}/nothing`, apiKey, messages);
await refused("empty", baseURL, apiKey, []);
