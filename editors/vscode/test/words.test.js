// What is shown, from what the program says. The extension itself is tested in the editor.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");
const { budgetText, hookIds, runActions, runItem, runText, statusText } = require("../words");

const RUN = { id: "1", hookId: "lint", status: "failed", startTs: "2026-01-01T10:00:00.000Z", files: [{ path: "a.rs" }], reason: "exit code 1" };

test("the status says what runs, waits and failed", () => {
  assert.strictEqual(statusText({}).text, "$(zap) hooks");
  assert.strictEqual(statusText({ running: 2, queued: 1 }).text, "$(sync~spin) 2 running, 1 queued");
  const failed = statusText({ lastFailure: { hook: "lint", reason: "exit code 1" }, waiting: ["fmt"] });
  assert.strictEqual(failed.text, "$(warning) 1 to approve");
  assert.match(failed.tooltip, /last failure: lint: exit code 1; waiting for approval: fmt/);
});

test("hooks are named as far as the file can be read", () => {
  assert.deepStrictEqual(hookIds(JSON.stringify({ hooks: [{ id: "lint" }, 7, {}] })), ["lint"]);
  assert.deepStrictEqual(hookIds("{"), []);
});

test("a run says what became of it and what can be done", () => {
  assert.strictEqual(runItem(RUN).detail, "a.rs  ·  exit code 1");
  assert.match(runText({ ...RUN, logs: "wrong" }), /hook: lint\nstatus: failed\nreason: exit code 1\n[^]*\n\nwrong/);
  assert.deepStrictEqual(runActions(RUN), [["Retry", "retry"]]);
  assert.deepStrictEqual(runActions({ ...RUN, status: "running" }), [["Cancel", "cancel"]]);
  assert.strictEqual(runActions({ ...RUN, patch: true }).length, 3);
});

test("a budget is told with what today's runs spent", () => {
  const runs = [{ ...RUN, usage: { tokens: 7 } }, { ...RUN, startTs: "2025-12-31T23:00:00.000Z", usage: { tokens: 9 } }];
  const hooks = [{ id: "lint", budget: { tokensPerDay: 100, microUsdPerDay: 2_500_000 } }, { id: "fmt" }];
  assert.deepStrictEqual(budgetText(hooks, runs, "2026-01-01"), [
    "lint: 7 tokens today, limit 100 tokens, 2.5 USD",
    "fmt: 0 tokens today, limit none",
  ]);
});

test("the schema is the one of the program, and every declared command is there", () => {
  const root = path.join(__dirname, "..");
  const read = (file) => fs.readFileSync(path.join(root, file), "utf8");
  assert.strictEqual(read("schema/workspace-hooks.schema.json"), read("../../sdk/schema/workspace-hooks.schema.json"));
  const source = read("extension.js");
  const declared = JSON.parse(read("package.json")).contributes.commands.map(({ command }) => command);
  assert.deepStrictEqual(declared.filter((command) => !source.includes(`"${command}":`)), []);
});
