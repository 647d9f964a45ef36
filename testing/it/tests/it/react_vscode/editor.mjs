// VS Code as `code-server` serves it, in a headless browser, and a person's hands and eyes.
import { spawn, execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const { chromium } = createRequire(`${process.env.EDITOR_FOLDER}/node_modules/`)("playwright-core");

export const PATIENCE_MS = 120_000;
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const USER_SETTINGS = {
  "chat.disableAIFeatures": true,
  // In a browser the default is to save after a delay, before the person does.
  "files.autoSave": "off",
  "git.enabled": false,
  "telemetry.telemetryLevel": "off",
  "workbench.startupEditor": "none",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
};

/** Waits until a condition gives something. */
export async function until(what, condition) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await condition();
    if (found) {
      return found;
    }
    if (Date.now() > end) {
      throw new Error(`in vain: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export class Editor {
  /** Starts the editor with the packed extension on a folder. */
  static async start({ project, data, vsix, dispatch }) {
    const editor = new Editor();
    Object.assign(editor, { project, data, dispatch });
    fs.mkdirSync(path.join(data, "User"), { recursive: true });
    fs.writeFileSync(path.join(data, "User/settings.json"), JSON.stringify(USER_SETTINGS));
    editor.configure({});
    const program = path.join(process.env.EDITOR_FOLDER, "node_modules/code-server");
    const words = [program, "--user-data-dir", data, "--extensions-dir", path.join(data, "extensions")];
    execFileSync(process.execPath, [...words, "--install-extension", vsix], { stdio: "ignore" });
    const serving = ["--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check"];
    editor.server = spawn(process.execPath, [...words, ...serving, "--disable-workspace-trust", project]);
    const address = await listening(editor.server);
    const env = { ...process.env, LD_LIBRARY_PATH: process.env.CHROMIUM_LIBRARIES };
    editor.browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS, env });
    editor.page = await editor.browser.newPage({ viewport: { width: 1280, height: 800 } });
    editor.page.setDefaultTimeout(PATIENCE_MS);
    await editor.page.goto(`${address}?folder=${encodeURIComponent(project)}`);
    return editor;
  }

  async stop() {
    await this.browser?.close();
    this.server?.kill();
  }

  /** The settings of the machine; the extension is told of a change. */
  configure(settings) {
    const file = path.join(this.data, "Machine/settings.json");
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, JSON.stringify({ "dispatch.path": this.dispatch, ...settings }));
  }

  async shot(name) {
    if (process.env.SCREENSHOTS) {
      await this.page.screenshot({ path: path.join(process.env.SCREENSHOTS, `${name}.png`) });
    }
  }

  /** A message in the corner; presses one of its buttons. */
  async message(text, button) {
    const toast = this.page.locator(".notification-toast", { hasText: text }).first();
    await toast.waitFor();
    if (button) {
      await toast.locator(".monaco-button", { hasText: button }).click();
    }
  }

  /** Chooses in the list that opens; nothing is chosen if there is nothing to choose. */
  async pick(text) {
    await this.page.locator(".quick-input-widget input").first().fill(text);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: text.replace(/^>/, "") }).first().waitFor();
    await this.page.keyboard.press("Enter");
  }

  async run(command) {
    await this.page.keyboard.press("F1");
    await this.pick(`>Dispatch: ${command}`);
  }

  async open(file) {
    await this.page.keyboard.press("Control+P");
    await this.pick(file);
    await this.page.locator(".tab.active", { hasText: path.basename(file) }).waitFor();
    await this.page.locator(".editor-group-container.active .monaco-editor textarea, .editor-group-container.active .native-edit-context").first().focus();
  }

  /** Replaces what is in a file and saves it. */
  async save(file, text) {
    await this.open(file);
    await this.page.keyboard.press("Control+A");
    await this.page.keyboard.insertText(text);
    await this.page.keyboard.press("Control+S");
  }

  status() {
    return this.page.locator('.statusbar-item[id*="dispatch"]').first().innerText();
  }

  /** What the active editor shows. */
  async text() {
    const lines = this.page.locator(".editor-group-container.active .view-lines").first();
    return (await lines.innerText()).replaceAll("\u00a0", " ");
  }

  lens(text) {
    return this.page.locator(".editor-group-container.active .codelens-decoration a", { hasText: text }).first();
  }

  read(file) {
    const found = path.join(this.project, file);
    return fs.existsSync(found) ? fs.readFileSync(found, "utf8") : "";
  }

  write(file, text) {
    fs.writeFileSync(path.join(this.project, file), text);
  }

  /** What the extension logged. */
  output() {
    const logs = fs.readdirSync(path.join(this.data, "logs"), { recursive: true, encoding: "utf8" });
    const own = logs.filter((file) => file.endsWith("Dispatch hooks.log"));
    return own.map((file) => fs.readFileSync(path.join(this.data, "logs", file), "utf8")).join("");
  }

  dispatched(...words) {
    return JSON.parse(execFileSync(this.dispatch, [...words, "--json"], { cwd: this.project }));
  }
}

function listening(server) {
  return new Promise((resolve, reject) => {
    let said = "";
    const read = (bytes) => {
      said += bytes;
      const found = said.match(/listening on (http:\S+)/);
      if (found) {
        resolve(found[1]);
      }
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
    server.on("exit", () => reject(new Error(`the editor ended: ${said}`)));
  });
}
