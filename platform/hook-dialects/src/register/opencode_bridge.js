// Managed by `dispatch init`: passes OpenCode's events to Dispatch and applies what it answers.
// Whatever goes wrong here lets OpenCode go on.

import { spawn } from "node:child_process";

const COMMAND = ["dispatch", "hook"];
const TIMEOUT_MS = 15_000;
const OUTPUT_LIMIT_CHARS = 1_000_000;
const NOTICES = new Set(["session.created", "session.idle", "session.deleted", "session.error"]);
const STATUS = { deny: "deny", ask: "ask", grant: "allow" };

function ask(event, payload, directory) {
  return new Promise((resolve) => {
    let text = "";
    let timer;
    const finish = (answer) => {
      clearTimeout(timer);
      resolve(answer);
    };
    try {
      const [program, ...words] = COMMAND;
      const child = spawn(program, [...words, event, "--host", "opencode"], {
        cwd: directory,
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      });
      timer = setTimeout(() => {
        child.kill();
        finish({});
      }, TIMEOUT_MS);
      child.on("error", (error) => {
        if (error.code === "ENOENT") tellMissing(program);
        finish({});
      });
      child.on("close", () => finish(parse(text)));
      child.stdout.setEncoding("utf8");
      child.stdout.on("data", (chunk) => {
        if (text.length < OUTPUT_LIMIT_CHARS) text += chunk;
      });
      child.stdin.on("error", () => {});
      child.stdin.end(JSON.stringify({ ...payload, cwd: directory }));
    } catch {
      finish({});
    }
  });
}

let told = false;

function tellMissing(program) {
  if (told) return;
  told = true;
  console.error(
    `This project is guarded by Dispatch, and ${program} is not on PATH: nothing is checked or recorded here until it is installed.`,
  );
}

function parse(text) {
  try {
    const answer = JSON.parse(text);
    return answer !== null && typeof answer === "object" ? answer : {};
  } catch {
    return {};
  }
}

function replaceArgs(target, args) {
  for (const key of Object.keys(target)) {
    if (!(key in args)) delete target[key];
  }
  Object.assign(target, args);
}

export const DispatchPlugin = async ({ directory }) => ({
  event: async ({ event }) => {
    if (NOTICES.has(event.type)) await ask(event.type, { event }, directory);
  },

  "chat.message": async (input, output) => {
    const answer = await ask("chat.message", { input, output }, directory);
    const part = output.parts?.findLast((one) => one.type === "text");
    if (answer.context && part) part.text = `${part.text}\n\n${answer.context}`;
  },

  "permission.ask": async (input, output) => {
    const answer = await ask("permission.ask", { input, output }, directory);
    output.status = STATUS[answer.decision] ?? output.status;
  },

  "tool.execute.before": async (input, output) => {
    const answer = await ask("tool.execute.before", { input, output }, directory);
    if (answer.decision === "deny") throw new Error(answer.reason);
    if (answer.args) replaceArgs(output.args, answer.args);
  },

  "tool.execute.after": async (input, output) => {
    const answer = await ask("tool.execute.after", { input, output }, directory);
    if (typeof answer.output === "string") output.output = answer.output;
    if (answer.context) output.output = `${output.output}\n\n${answer.context}`;
  },

  "experimental.session.compacting": async (input, output) => {
    const answer = await ask("experimental.session.compacting", { input, output }, directory);
    if (answer.context) output.context?.push(answer.context);
  },
});
