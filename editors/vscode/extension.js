// Starts `dispatch lsp` and shows what it says: everything else is done by the server.
"use strict";

const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");
const { Approvals } = require("./approvals");
const { run } = require("./program");
const { Runs } = require("./runs");
const { hookIds, statusText } = require("./words");

const HOOKS_FILE = path.join(".akira", "hooks.json");
const NEW_HOOKS = `{
  "schemaVersion": 1,
  "hooks": []
}
`;

let client;
let output;
let item;
let approvals;
let runs;
/** What is shown in the status bar, from the server's two notifications. */
let standing = {};

async function activate(context) {
  output = vscode.window.createOutputChannel("Dispatch hooks");
  item = vscode.window.createStatusBarItem("dispatch.status", vscode.StatusBarAlignment.Left, 0);
  item.name = "Dispatch hooks";
  approvals = new Approvals(request);
  runs = new Runs(program);
  context.subscriptions.push(approvals.register(), ...runs.register());
  const commands = {
    "dispatch.approve": guarded(() => approvals.review(firstFolder())),
    "dispatch.history": guarded(() => runs.history()),
    "dispatch.toggleHook": guarded(() => runs.toggle()),
    "dispatch.budgets": guarded(() => runs.budgets()),
    "dispatch.showOutput": () => output.show(true),
    "dispatch.runHook": runHook,
    "dispatch.openHooks": openHooks,
    "dispatch.restart": restart,
  };
  context.subscriptions.push(output, item);
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(name, run));
  }
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("dispatch.path") || change.affectsConfiguration("dispatch.arguments") || change.affectsConfiguration("dispatch.debug")) {
        restart();
      }
    }),
  );
  await start();
}

async function deactivate() {
  await stop();
}

async function start() {
  const settings = vscode.workspace.getConfiguration("dispatch");
  const { command, args: before } = program();
  try {
    await run(program(), ["--version"]);
  } catch (error) {
    tellMissing(command, error);
    return;
  }
  const args = [...before, "lsp"];
  const server = { command, args, transport: TransportKind.stdio, options: { cwd: firstFolder() } };
  client = new LanguageClient("dispatch", "Dispatch hooks", server, {
    documentSelector: [{ scheme: "file" }],
    outputChannel: output,
    initializationOptions: { dispatchStatus: true, dispatchMessages: true },
  });
  client.onNotification("dispatch/status", showStatus);
  client.onNotification("dispatch/hooks", showHooks);
  try {
    await client.start();
    if (settings.get("debug", false)) {
      await client.setTrace(2);
    }
    showStatus({ running: 0, queued: 0, lastFailure: null });
  } catch (error) {
    client = undefined;
    tellMissing(command, error);
  }
}

/** The program is not there, or is not what it should be. */
function tellMissing(command, error) {
  output.appendLine(`${command} does not start: ${error.message ?? error}`);
  item.text = "$(warning) hooks";
  item.tooltip = `${command} does not start; set dispatch.path to the program`;
  item.command = "dispatch.showOutput";
  item.show();
  const text = `Dispatch: the program \`${command}\` does not start; install it, or say where it is.`;
  vscode.window.showErrorMessage(text, "Set dispatch.path").then((choice) => {
    if (choice) {
      vscode.commands.executeCommand("workbench.action.openSettings", "dispatch.path");
    }
  });
}

async function stop() {
  const running = client;
  client = undefined;
  if (running) {
    await running.stop().catch(() => {});
  }
}

async function restart() {
  await stop();
  await start();
}

/** How the program is called. */
function program() {
  const settings = vscode.workspace.getConfiguration("dispatch");
  const log = settings.get("debug", false) ? (line) => output.appendLine(`> ${line}`) : undefined;
  return { command: settings.get("path", "dispatch"), args: settings.get("arguments", []), cwd: firstFolder(), log };
}

/** Has the server do something. */
async function request(command, argument) {
  if (!client) {
    throw new Error("dispatch lsp does not run");
  }
  return client.sendRequest("workspace/executeCommand", { command, arguments: [argument] });
}

/** A command whose failure is shown. */
function guarded(work) {
  return async () => {
    try {
      await work();
    } catch (error) {
      vscode.window.showErrorMessage(`Dispatch: ${error.message ?? error}`);
    }
  };
}

let lastRun;
let told = "";

function show() {
  const words = statusText(standing);
  item.text = words.text;
  item.tooltip = words.tooltip;
  item.command = standing.waiting?.length ? "dispatch.approve" : "dispatch.showOutput";
  item.show();
}

function showStatus(status) {
  standing = { ...standing, ...status };
  show();
  const failure = status.lastFailure;
  if (!failure || failure.run === lastRun) {
    return;
  }
  lastRun = failure.run;
  if (vscode.workspace.getConfiguration("dispatch").get("showFailures", true)) {
    const text = `Dispatch: hook ${failure.hook} failed: ${failure.reason}`;
    vscode.window.showWarningMessage(text, "Show run", "Retry").then((choice) => {
      if (choice === "Show run") {
        guarded(() => runs.detail(failure.run))();
      } else if (choice === "Retry") {
        guarded(() => runs.retry(failure.run))();
      }
    });
  }
}

/** Hooks that wait for approval and a file that is invalid reach the person, each once. */
function showHooks({ waiting = [], problem = null }) {
  standing = { ...standing, waiting, problem };
  show();
  const news = JSON.stringify([waiting, problem]);
  if (news === told) {
    return;
  }
  told = news;
  if (waiting.length) {
    const text = `Dispatch: hooks wait for your approval: ${waiting.join(", ")}`;
    vscode.window.showWarningMessage(text, "Review").then((choice) => choice && vscode.commands.executeCommand("dispatch.approve"));
  }
  if (problem) {
    const text = `Dispatch: ${problem}; the last valid hooks stay on`;
    vscode.window.showWarningMessage(text, "Open hooks.json").then((choice) => choice && openHooks());
  }
}

async function runHook() {
  const folder = firstFolder();
  if (!client || !folder) {
    return;
  }
  const hook = await vscode.window.showQuickPick(hookIds(await readHooks(folder)), { placeHolder: "The hook to run" });
  if (!hook) {
    return;
  }
  const document = vscode.window.activeTextEditor?.document;
  const uri = document?.uri.scheme === "file" ? document.uri.toString() : undefined;
  const argument = uri ? { hook, uri } : { hook, workspace: folder };
  try {
    const params = { command: "dispatch.runs.start", arguments: [argument] };
    await client.sendRequest("workspace/executeCommand", params);
  } catch (error) {
    vscode.window.showErrorMessage(`The hook did not start: ${error.message ?? error}`);
  }
}

async function openHooks() {
  const folder = firstFolder();
  if (!folder) {
    return;
  }
  const file = vscode.Uri.file(path.join(folder, HOOKS_FILE));
  try {
    await vscode.workspace.fs.stat(file);
  } catch {
    await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(NEW_HOOKS));
  }
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(file));
}

async function readHooks(folder) {
  try {
    const bytes = await vscode.workspace.fs.readFile(vscode.Uri.file(path.join(folder, HOOKS_FILE)));
    return new TextDecoder().decode(bytes);
  } catch {
    return "";
  }
}

function firstFolder() {
  return vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === "file")?.uri.fsPath;
}

module.exports = { activate, deactivate };
