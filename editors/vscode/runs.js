// The history of runs, one run with its live output, its patch, and the switches of hooks.
"use strict";

const vscode = require("vscode");
const { json, run } = require("./program");
const { budgetText, isGoing, runActions, runItem, runText } = require("./words");

const SCHEME = "dispatch-run";
const PATCH = ".diff";
const LOOK_MS = 700;

/** Where a run's text is; the name is what the tab shows. */
function address(record, ending) {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${record.id}/${record.hookId}${ending}` });
}

async function show(uri) {
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: false });
}

function tell(error) {
  vscode.window.showErrorMessage(`Dispatch: ${error.message ?? error}`);
}

class Runs {
  constructor(program) {
    this.program = program;
    this.texts = new Map();
    this.records = new Map();
    this.changed = new vscode.EventEmitter();
  }

  register() {
    const actions = { show: this.detail, retry: this.retry, cancel: this.cancel, preview: this.preview, apply: this.apply };
    const commands = Object.entries(actions).map(([name, act]) =>
      vscode.commands.registerCommand(`dispatch.run.${name}`, (id) => act.call(this, id).catch(tell)),
    );
    const texts = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: this.changed.event,
      provideTextDocumentContent: (uri) => this.texts.get(uri.path) ?? "",
    });
    const lenses = vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, {
      onDidChangeCodeLenses: this.changed.event,
      provideCodeLenses: (document) => this.lenses(document.uri.path),
    });
    return [...commands, texts, lenses];
  }

  /** What can be done with a run, over its text or its patch. */
  lenses(path) {
    const record = this.records.get(path);
    const actions = record ? runActions(record).filter(([, name]) => !path.endsWith(PATCH) || name === "apply") : [];
    const top = new vscode.Range(0, 0, 0, 0);
    return actions.map(([title, name]) => {
      return new vscode.CodeLens(top, { title, command: `dispatch.run.${name}`, arguments: [record.id] });
    });
  }

  /** A list of runs; what is typed is searched in output, files and reasons too. */
  async history() {
    const pick = vscode.window.createQuickPick();
    pick.placeholder = "Runs of this workspace; type to search in what they printed";
    const load = async (text) => {
      pick.busy = true;
      const words = text ? ["runs", "search", text] : ["runs", "list"];
      const found = await json(this.program(), words).catch((error) => (tell(error), []));
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
      // While a search goes on there may be nothing to choose yet.
      const chosen = pick.selectedItems[0] ?? pick.activeItems[0];
      if (chosen) {
        pick.hide();
        this.detail(chosen.run.id).catch(tell);
      }
    });
    pick.onDidHide(() => pick.dispose());
    pick.show();
    await load("");
  }

  /** One run, kept up to date while it goes. */
  async detail(id) {
    let record = await json(this.program(), ["runs", "show", id]);
    const uri = address(record, ".log");
    this.keep(uri, record, runText(record));
    await show(uri);
    while (isGoing(record)) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      record = await json(this.program(), ["runs", "show", id]);
      this.keep(uri, record, runText(record));
    }
  }

  keep(uri, record, text) {
    this.texts.set(uri.path, text);
    this.records.set(uri.path, record);
    this.changed.fire(uri);
  }

  async retry(id) {
    const again = await json(this.program(), ["runs", "retry", id]);
    await this.detail(again.id);
  }

  async cancel(id) {
    await run(this.program(), ["runs", "cancel", id]);
  }

  async preview(id) {
    const record = await json(this.program(), ["runs", "show", id]);
    const uri = address(record, PATCH);
    this.keep(uri, record, await run(this.program(), ["runs", "apply", id, "--show"]));
    await show(uri);
  }

  async apply(id) {
    const said = await run(this.program(), ["runs", "apply", id]);
    // Before the last line is what changed, which is not for a message of one line.
    vscode.window.showInformationMessage(`Dispatch: ${said.trim().split("\n").pop() || "applied"}`);
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
