// Shows what an approval approves, as differences to before, and asks the person.
"use strict";

const vscode = require("vscode");

const SCHEME = "dispatch-review";
const TITLE = "Hooks to approve";

class Approvals {
  constructor(request) {
    this.request = request;
    this.texts = new Map();
  }

  register() {
    return vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      provideTextDocumentContent: (uri) => this.texts.get(uri.toString()) ?? "",
    });
  }

  /** Shows all differences in one editor, then asks beside it; approves exactly what was shown. */
  async review(folder) {
    const shown = await this.request("dispatch.approvals.review", { workspace: folder });
    const changed = shown.hooks.filter((hook) => hook.state !== "same" && hook.state !== "removed");
    if (!changed.length) {
      vscode.window.showInformationMessage("Dispatch: every hook is approved.");
      return;
    }
    await vscode.commands.executeCommand("vscode.changes", TITLE, this.differences(changed, shown.token));
    const names = changed.map((hook) => `${hook.hookId} (${hook.state})`).join(", ");
    const question = `Approve these hooks: ${names}? They will run programs on your machine.`;
    const choice = await vscode.window.showWarningMessage(question, "Approve", "Not now");
    await closeReview();
    if (choice === "Approve") {
      await this.request("dispatch.approvals.approve", { workspace: folder, token: shown.token });
      vscode.window.showInformationMessage("Dispatch: the hooks are approved.");
    }
  }

  /** Each text that differs: what it is called, before, and now. Texts of another review have other addresses. */
  differences(hooks, token) {
    return hooks.flatMap((hook) =>
      [hook.hook, ...hook.files]
        .filter((text) => text.differs)
        .map((text) => {
          const name = text.name === hook.hookId ? `${hook.hookId}.json` : `${hook.hookId}/${text.name}`;
          const side = (query, content) => {
            const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}`, query: `${query} ${token}` });
            this.texts.set(uri.toString(), content);
            return uri;
          };
          const before = text.before ? side("approved", text.before) : undefined;
          const after = text.after ? side("now", text.after) : undefined;
          return [after ?? before, before, after];
        }),
    );
  }
}

/** Closes what was shown for the question. */
async function closeReview() {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  await vscode.window.tabGroups.close(tabs.filter((tab) => tab.label.startsWith(TITLE)));
}

module.exports = { Approvals };
