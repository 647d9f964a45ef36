// What a hook written for Node or Bun does: reads the event, asks eight modules, appends a line, answers.
import { appendFileSync, readFileSync } from "node:fs";

const [log, ...files] = process.argv.slice(2);
const payload = JSON.parse(readFileSync(0, "utf8"));
const ctx = { event: { toolName: payload.tool_name, command: payload.tool_input.command, paths: [] } };
let decision = "allow";
for (const file of files) {
  const { default: module } = await import(file);
  if (!module.supports.has("PreToolUse")) continue;
  const action = await module.handle("PreToolUse", ctx);
  if (action?.decision === "deny") decision = "deny";
}
appendFileSync(log, JSON.stringify({ ts: new Date().toISOString(), decision }) + "\n");
process.stdout.write(decision === "deny" ? '{"decision":"block"}\n' : "{}\n");
