import type { Host } from "dispatch-sdk";
import { find, isLookedInto, isRead, show, type Todo } from "./logic.ts";

const MAX_FILES = 5_000;

export function activate(host: Host): void {
  const given: unknown = host.settings.words;
  const words = Array.isArray(given) ? given.map(String) : ["TODO", "FIXME"];
  host.defineCommand({
    name: "todos",
    description: "Lists the open points in comments, below a folder if one is named.",
    async run(args) {
      const found: Todo[] = [];
      const folders = [args[0] ?? "."];
      for (let read = 0, folder; read < MAX_FILES && (folder = folders.pop()) !== undefined; ) {
        for (const { name, kind } of await host.files.list(folder)) {
          const path = folder === "." ? name : `${folder}/${name}`;
          if (kind === "folder" && isLookedInto(name)) folders.push(path);
          if (kind !== "file" || !isRead(name)) continue;
          read += 1;
          // A file that is too large or is no text after all has no comments for us.
          const text = await host.files.read(path).catch(() => "");
          found.push(...find(path, text, words));
        }
      }
      return show(found.sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line));
    },
  });
}
