// Starts `dispatch lsp` and shows what it says: everything else is done by the server.
"use strict";

const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");
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

async function activate(context) {
  output = vscode.window.createOutputChannel("Dispatch hooks");
  item = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left, 0);
  item.command = "dispatch.showOutput";
  const commands = {
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
      if (change.affectsConfiguration("dispatch.path") || change.affectsConfiguration("dispatch.arguments")) {
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
  const command = settings.get("path", "dispatch");
  const args = [...settings.get("arguments", []), "lsp"];
  const server = { command, args, transport: TransportKind.stdio, options: { cwd: firstFolder() } };
  client = new LanguageClient("dispatch", "Dispatch hooks", server, {
    documentSelector: [{ scheme: "file" }],
    outputChannel: output,
    initializationOptions: { dispatchStatus: true },
  });
  client.onNotification("dispatch/status", showStatus);
  try {
    await client.start();
    showStatus({ running: 0, queued: 0, lastFailure: null });
  } catch (error) {
    client = undefined;
    output.appendLine(`dispatch lsp did not start: ${error.message ?? error}`);
    item.text = "$(warning) hooks";
    item.tooltip = `${command} did not start; set dispatch.path to the program`;
    item.show();
  }
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

let lastRun;

function showStatus(status) {
  const words = statusText(status);
  item.text = words.text;
  item.tooltip = words.tooltip;
  item.show();
  const failure = status.lastFailure;
  if (!failure || failure.run === lastRun) {
    return;
  }
  lastRun = failure.run;
  if (vscode.workspace.getConfiguration("dispatch").get("showFailures", true)) {
    vscode.window.showWarningMessage(`Hook ${failure.hook} failed: ${failure.reason}`, "Show output").then((choice) => {
      if (choice) {
        output.show(true);
      }
    });
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
