// A person's first hour with the extension; what they see is printed as lines of JSON.
import fs from "node:fs";
import { Editor, until } from "./editor.mjs";

const [project, data, vsix, dispatch] = process.argv.slice(2);
const tell = (name, value) => console.log(JSON.stringify({ name, value }));

async function approve(editor) {
  await editor.message("hooks wait for your approval");
  tell("waiting", await until("the status", async () => (await editor.status()).match(/\d+ to approve/)?.[0]));
  await editor.shot("01-waiting");
  await editor.message("hooks wait for your approval", "Review");
  await editor.page.locator(".tab.active", { hasText: "Hooks to approve" }).waitFor();
  await editor.message("Approve these hooks");
  await editor.page.locator(".multiDiffEntry .view-lines", { hasText: "cat a.txt > noted" }).first().waitFor();
  await editor.shot("02-review");
  await editor.message("Approve these hooks", "Approve");
  await editor.message("the hooks are approved");
  await until("nothing to approve", async () => !(await editor.status()).includes("to approve"));
  tell("tabs", await editor.page.locator(".tab", { hasText: "Hooks to approve" }).count());
  await editor.shot("03-approved");
}

/** Waits until the status warns of nothing. */
async function well(editor) {
  await editor.page.locator('.statusbar-item[id*="dispatch"] .codicon-zap').waitFor();
}

async function failure(editor) {
  editor.write("broken", "");
  await editor.save("b.bad", "one\n");
  await editor.message("hook bad failed");
  await editor.shot("05-failure");
  await editor.message("hook bad failed", "Show run");
  await until("the run", async () => (await editor.text()).includes("the linter says no"));
  await editor.shot("06-run");
  await editor.page.keyboard.press("F1");
  await editor.pick(">Notifications: Clear All Notifications");
  fs.rmSync(`${project}/broken`);
  await editor.lens("Retry").click();
  await until("the second run", async () => (await editor.text()).includes("status: success"));
  await editor.lens("Retry").waitFor();
  await well(editor);
  await editor.shot("07-retried");
}

/** Searches for the only run with a text. */
async function found(editor, text) {
  await editor.run("History of runs");
  await editor.page.locator(".quick-input-widget input").first().fill(text);
  const rows = editor.page.locator(".quick-input-list .monaco-list-row");
  await until(`the search for ${text}`, async () => (await rows.count()) === 1);
  return rows.first().innerText();
}

async function history(editor) {
  tell("found", await found(editor, "linter"));
  await editor.shot("08-history");
  await editor.page.keyboard.press("Escape");
}

async function live(editor) {
  await editor.run("Run a hook");
  await editor.pick("slow");
  await until("the status", async () => (await editor.status()).includes("1 running"));
  await found(editor, "slow");
  await editor.page.keyboard.press("Enter");
  await until("live output", async () => /status: running[^]*first line/.test(await editor.text()));
  await editor.lens("Cancel").waitFor();
  await editor.shot("09-live");
  editor.write("go", "");
  await until("its end", async () => /status: success[^]*last line/.test(await editor.text()));
}

async function patch(editor) {
  await editor.run("Run a hook");
  await editor.pick("propose");
  await until("the patch", () => editor.dispatched("runs", "list").some((run) => run.patch && run.status === "success"));
  await found(editor, "propose");
  await editor.page.keyboard.press("Enter");
  await editor.lens("Preview patch").click();
  await until("the preview", async () => (await editor.text()).includes("+proposed"));
  await editor.shot("10-patch");
  await editor.lens("Apply patch").click();
  await until("the file", () => editor.read("proposed.txt") === "proposed\n");
}

async function hooksFile(editor) {
  await editor.run("Open hooks.json");
  await editor.page.locator(".tab.active", { hasText: "hooks.json" }).waitFor();
  await editor.lens("run").waitFor();
  await editor.shot("11-hooks");
  await editor.page.keyboard.press("Control+Home");
  await editor.page.keyboard.press("ArrowRight");
  await editor.page.keyboard.press("Control+Space");
  await editor.page.locator(".suggest-widget .monaco-list-row", { hasText: "limits" }).first().waitFor();
  await editor.shot("12-completion");
  await editor.page.keyboard.press("Escape");
  const valid = editor.read(".akira/hooks.json");
  await editor.page.keyboard.insertText('"hooky": 1, ');
  await editor.page.keyboard.press("Control+S");
  await editor.message("the last valid hooks stay on");
  await editor.page.locator(".editor-group-container.active .squiggly-error").first().waitFor();
  await editor.shot("13-invalid");
  editor.write(".akira/hooks.json", valid);
  await well(editor);
}

async function switches(editor) {
  await editor.run("Switch a hook on or off");
  await editor.pick("note");
  await until("it is off", () => editor.dispatched("workspace-hooks", "list").hooks.some((hook) => hook.id === "note" && !hook.inForce));
  await editor.run("Budgets of hooks");
  const row = editor.page.locator(".quick-input-list .monaco-list-row", { hasText: "propose" }).first();
  tell("budget", await row.innerText());
  await editor.shot("14-budgets");
  await editor.page.keyboard.press("Escape");
}

async function settings(editor) {
  editor.configure({ "dispatch.debug": true });
  await until("the protocol in the output", () => editor.output().includes("Received notification 'dispatch/hooks'"));
  await editor.run("History of runs");
  await until("calls in the output", () => editor.output().includes("runs list --json"));
  await editor.page.keyboard.press("Escape");
  editor.configure({ "dispatch.path": "/no/such/dispatch" });
  await editor.message("the program `/no/such/dispatch` does not start");
  await editor.shot("15-missing");
}

const editor = await Editor.start({ project, data, vsix, dispatch });
try {
  await approve(editor);
  await editor.save("a.txt", "saved by a person\n");
  await until("the run of the save", () => editor.read("noted") === "saved by a person\n");
  await editor.shot("04-saved");
  await failure(editor);
  // The editor waits for a second or two; a slow machine may need another save.
  let saves = 0;
  await until("an edit before the save", async () => {
    saves += 1;
    await editor.save("c.md", `loud ${saves}\n`);
    await until("the save", () => editor.read("c.md").toLowerCase() === `loud ${saves}\n`);
    return editor.read("c.md") === `LOUD ${saves}\n`;
  });
  await history(editor);
  await live(editor);
  await patch(editor);
  await hooksFile(editor);
  await switches(editor);
  await settings(editor);
  tell("over", true);
} catch (error) {
  await editor.shot("error");
  console.error(error.stack, editor.output());
  process.exitCode = 1;
} finally {
  await editor.stop();
}
