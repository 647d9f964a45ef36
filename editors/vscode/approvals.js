// Shows what an approval approves, as differences to before, and asks the person.
"use strict";

const vscode = require("vscode");

const SCHEME = "dispatch-review";

class Approvals {
  constructor(request) {
    this.request = request;
    this.texts = new Map();
  }

  register() {
    return vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      provideTextDocumentContent: (uri) => this.texts.get(uri.path) ?? "",
    });
  }

  /** Shows each difference, then asks; approves exactly what was shown. */
  async review(folder) {
    const shown = await this.request("dispatch.approvals.review", { workspace: folder });
    const changed = shown.hooks.filter((hook) => hook.state !== "same" && hook.state !== "removed");
    if (!changed.length) {
      vscode.window.showInformationMessage("Dispatch: every hook is approved.");
      return;
    }
    for (const hook of changed) {
      for (const text of [hook.hook, ...hook.files].filter((text) => text.differs)) {
        await this.difference(hook.hookId, text);
      }
    }
    const names = changed.map((hook) => `${hook.hookId} (${hook.state})`).join(", ");
    const question = `Approve the hooks of this folder: ${names}? They will run programs on your machine.`;
    const choice = await vscode.window.showWarningMessage(question, { modal: true }, "Approve");
    if (choice === "Approve") {
      await this.request("dispatch.approvals.approve", { workspace: folder, token: shown.token });
      vscode.window.showInformationMessage("Dispatch: the hooks are approved.");
    }
  }

  async difference(hook, text) {
    const uri = (side, content) => {
      const path = `/${side}/${hook}/${text.name}${text.name === hook ? ".json" : ""}`;
      this.texts.set(path, content ?? "");
      return vscode.Uri.from({ scheme: SCHEME, path });
    };
    const title = `${text.name}: approved ↔ now`;
    const sides = [uri("approved", text.before), uri("now", text.after)];
    await vscode.commands.executeCommand("vscode.diff", ...sides, title, { preview: false });
  }
}

module.exports = { Approvals };
