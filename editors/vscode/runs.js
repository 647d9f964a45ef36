// The history of runs, one run with its live output, its patch, and the switches of hooks.
"use strict";

const vscode = require("vscode");
const { json, run } = require("./program");
const { budgetText, runItem, runText } = require("./words");

const SCHEME = "dispatch-run";
const LOOK_MS = 700;

class Runs {
  constructor(program) {
    this.program = program;
    this.texts = new Map();
    this.changed = new vscode.EventEmitter();
  }

  register() {
    return vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: this.changed.event,
      provideTextDocumentContent: (uri) => this.texts.get(uri.path) ?? "",
    });
  }

  /** A list of runs; what is typed is searched in output, files and reasons too. */
  async history() {
    const pick = vscode.window.createQuickPick();
    pick.placeholder = "Runs of this workspace; type to search in what they printed";
    const load = async (text) => {
      pick.busy = true;
      const words = text ? ["runs", "search", text] : ["runs", "list"];
      const found = await json(this.program(), words).catch(() => []);
      // What the program found is shown whether its label holds the text or not.
      pick.items = found.map((one) => ({ ...runItem(one), alwaysShow: true }));
      pick.busy = false;
    };
    let timer;
    pick.onDidChangeValue((text) => {
      clearTimeout(timer);
      timer = setTimeout(() => load(text), 250);
    });
    pick.onDidAccept(() => {
      const chosen = pick.selectedItems[0];
      pick.hide();
      if (chosen) {
        this.detail(chosen.run.id);
      }
    });
    pick.onDidHide(() => pick.dispose());
    pick.show();
    await load("");
  }

  /** One run, kept up to date while it goes; then what can be done with it. */
  async detail(id) {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${id}.log` });
    const look = async () => {
      const record = await json(this.program(), ["runs", "show", id]);
      this.texts.set(uri.path, runText(record));
      this.changed.fire(uri);
      return record;
    };
    let record = await look();
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: false });
    while (record.status === "running" || record.status === "queued") {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      record = await look();
    }
    const actions = ["Retry", ...(record.patch ? ["Preview patch", "Apply patch"] : [])];
    const choice = await vscode.window.showInformationMessage(`Run of ${record.hookId}: ${record.status}`, ...actions);
    if (choice === "Retry") {
      await this.retry(id);
    } else if (choice === "Preview patch") {
      await this.preview(id);
    } else if (choice === "Apply patch") {
      await this.apply(id);
    }
  }

  async retry(id) {
    const again = await json(this.program(), ["runs", "retry", id]);
    await this.detail(again.id);
  }

  async preview(id) {
    const content = await run(this.program(), ["runs", "apply", id, "--show"]);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content, language: "diff" }));
    if ((await vscode.window.showInformationMessage("Apply this patch?", "Apply patch")) === "Apply patch") {
      await this.apply(id);
    }
  }

  async apply(id) {
    const said = await run(this.program(), ["runs", "apply", id]);
    vscode.window.showInformationMessage(said.trim() || "The patch is applied.");
  }

  /** Switches a hook on or off, for this user alone. */
  async toggle() {
    const { hooks } = await json(this.program(), ["workspace-hooks", "list"]);
    const items = hooks.map((hook) => ({
      label: `${hook.inForce ? "$(circle-filled)" : "$(circle-outline)"} ${hook.id}`,
      description: hook.inForce ? "on" : hook.reason,
      hook,
    }));
    const chosen = await vscode.window.showQuickPick(items, { placeHolder: "Switch a hook on or off" });
    if (chosen) {
      const word = chosen.hook.inForce ? "disable" : "enable";
      vscode.window.showInformationMessage((await run(this.program(), ["workspace-hooks", word, chosen.hook.id])).trim());
    }
  }

  async budgets() {
    const { hooks } = await json(this.program(), ["workspace-hooks", "list"]);
    const runs = await json(this.program(), ["runs", "list", "--limit", "1000"]);
    const today = new Date().toISOString().slice(0, 10);
    await vscode.window.showQuickPick(budgetText(hooks, runs, today), { placeHolder: "What hooks may spend, and spent today (UTC)" });
  }
}

module.exports = { Runs };
