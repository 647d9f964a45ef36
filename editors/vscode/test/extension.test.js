// Loads the extension with stand-ins for the editor and its client library: the editor cannot run here.
"use strict";

const assert = require("node:assert");
const Module = require("node:module");
const test = require("node:test");

function editor() {
  const seen = { commands: {}, requests: [], files: {}, shown: [], warnings: [], started: 0, stopped: 0, listeners: {} };
  const disposable = { dispose() {} };
  const settings = { path: "/opt/dispatch", arguments: ["--minimal"], showFailures: true };
  seen.item = { show() {}, dispose() {} };
  seen.output = { show: () => seen.shown.push("output"), appendLine: (line) => seen.shown.push(line), dispose() {} };
  const vscode = {
    EventEmitter: class {
      event() {}
      fire() {}
    },
    StatusBarAlignment: { Left: 1 },
    Uri: { file: (fsPath) => ({ fsPath, scheme: "file", toString: () => `file://${fsPath}` }) },
    commands: { registerCommand: (name, run) => ((seen.commands[name] = run), disposable) },
    window: {
      createOutputChannel: () => seen.output,
      createStatusBarItem: () => seen.item,
      showQuickPick: async (choices) => choices[0],
      showWarningMessage: async (text) => void seen.warnings.push(text),
      showErrorMessage: async (text) => void seen.warnings.push(text),
      showTextDocument: async (document) => void seen.shown.push(document),
    },
    workspace: {
      workspaceFolders: [{ uri: { scheme: "file", fsPath: "/project" } }],
      getConfiguration: () => ({ get: (name, fallback) => settings[name] ?? fallback }),
      onDidChangeConfiguration: (listener) => ((seen.configured = listener), disposable),
      registerTextDocumentContentProvider: () => disposable,
      openTextDocument: async (uri) => uri.fsPath,
      fs: {
        stat: async (uri) => assert.ok(uri.fsPath in seen.files),
        readFile: async (uri) => new TextEncoder().encode(seen.files[uri.fsPath]),
        writeFile: async (uri, bytes) => void (seen.files[uri.fsPath] = new TextDecoder().decode(bytes)),
      },
    },
  };
  class LanguageClient {
    constructor(id, name, server, options) {
      Object.assign(seen, { server, options });
    }
    onNotification(name, listener) {
      seen.listeners[name] = listener;
    }
    async start() {
      if (seen.broken) {
        throw new Error("no such program");
      }
      seen.started += 1;
    }
    async stop() {
      seen.stopped += 1;
    }
    async sendRequest(method, params) {
      seen.requests.push([method, params]);
    }
  }
  return { seen, vscode, client: { LanguageClient, TransportKind: { stdio: 0 } } };
}

function load({ vscode, client }) {
  const original = Module._load;
  Module._load = (request, ...rest) => {
    if (request === "vscode") return vscode;
    if (request === "vscode-languageclient/node") return client;
    return original(request, ...rest);
  };
  try {
    for (const file of ["../extension.js", "../approvals.js", "../runs.js"]) {
      delete require.cache[require.resolve(file)];
    }
    return require("../extension.js");
  } finally {
    Module._load = original;
  }
}

test("it starts the server that the settings name, for every file", async () => {
  const rig = editor();
  const extension = load(rig);
  await extension.activate({ subscriptions: [] });
  const { seen } = rig;
  assert.deepStrictEqual([seen.server.command, seen.server.args], ["/opt/dispatch", ["--minimal", "lsp"]]);
  assert.strictEqual(seen.server.options.cwd, "/project");
  assert.deepStrictEqual(seen.options.documentSelector, [{ scheme: "file" }]);
  assert.strictEqual(seen.options.outputChannel, seen.output);
  seen.configured({ affectsConfiguration: (name) => name === "dispatch.path" });
  await new Promise(setImmediate);
  assert.deepStrictEqual([seen.started, seen.stopped], [2, 1]);
  await extension.deactivate();
  assert.strictEqual(seen.stopped, 2);
});

test("the status item says what runs and a failure is told once", async () => {
  const rig = editor();
  await load(rig).activate({ subscriptions: [] });
  const tell = rig.seen.listeners["dispatch/status"];
  tell({ running: 2, queued: 1, lastFailure: null });
  assert.strictEqual(rig.seen.item.text, "$(sync~spin) 2 running, 1 queued");
  const failed = { running: 0, queued: 0, lastFailure: { hook: "lint", run: "1", reason: "exit code 1" } };
  tell(failed);
  tell(failed);
  assert.strictEqual(rig.seen.item.text, "$(warning) hooks");
  assert.deepStrictEqual(rig.seen.warnings, ["Hook lint failed: exit code 1"]);
});

test("hooks that wait for approval and an invalid file are told once", async () => {
  const rig = editor();
  await load(rig).activate({ subscriptions: [] });
  const tell = rig.seen.listeners["dispatch/hooks"];
  tell({ waiting: ["fmt"], problem: null });
  tell({ waiting: ["fmt"], problem: null });
  assert.deepStrictEqual(rig.seen.warnings, ["Dispatch: hooks wait for your approval: fmt"]);
  assert.strictEqual(rig.seen.item.text, "$(warning) 1 to approve");
  tell({ waiting: [], problem: "hooks.json:1:2: unknown key" });
  assert.match(rig.seen.warnings[1], /hooks.json:1:2: unknown key; the last valid hooks stay on/);
});

test("the package holds its dependencies, and the schema is the one of the program", () => {
  const fs = require("node:fs");
  const path = require("node:path");
  const root = path.join(__dirname, "..");
  assert.doesNotMatch(fs.readFileSync(path.join(root, ".vscodeignore"), "utf8"), /node_modules/);
  const schema = "workspace-hooks.schema.json";
  const own = fs.readFileSync(path.join(root, "schema", schema), "utf8");
  assert.strictEqual(own, fs.readFileSync(path.join(root, "../../sdk/schema", schema), "utf8"));
});

test("hooks can be opened and run", async () => {
  const rig = editor();
  await load(rig).activate({ subscriptions: [] });
  await rig.seen.commands["dispatch.openHooks"]();
  assert.strictEqual(JSON.parse(rig.seen.files["/project/.akira/hooks.json"]).schemaVersion, 1);
  rig.seen.files["/project/.akira/hooks.json"] = JSON.stringify({ hooks: [{ id: "lint" }, 7, {}] });
  await rig.seen.commands["dispatch.runHook"]();
  const argument = { hook: "lint", workspace: "/project" };
  const params = { command: "dispatch.runs.start", arguments: [argument] };
  assert.deepStrictEqual(rig.seen.requests, [["workspace/executeCommand", params]]);
});

test("a program that is not there is said, and nothing breaks", async () => {
  const rig = editor();
  rig.seen.broken = true;
  await load(rig).activate({ subscriptions: [] });
  assert.match(rig.seen.item.tooltip, /set dispatch.path/);
  await rig.seen.commands["dispatch.runHook"]();
  assert.deepStrictEqual(rig.seen.requests, []);
});

test("every command and setting that is used is declared", () => {
  const manifest = require("../package.json");
  const declared = manifest.contributes.commands.map((command) => command.command).sort();
  const rig = editor();
  return load(rig)
    .activate({ subscriptions: [] })
    .then(() => assert.deepStrictEqual(Object.keys(rig.seen.commands).sort(), declared));
});
