// Which lines of a text are open points.

export interface Todo {
  path: string;
  line: number;
  text: string;
}

export function find(path: string, text: string, words: readonly string[]): Todo[] {
  const escaped = words.map((word) => word.replace(/[^\w]/g, "\\$&")).join("|");
  const pattern = new RegExp(`(?:^|[^\\w])((?:${escaped})\\b[:( ].*)`);
  return text.split("\n").flatMap((line, at) => {
    const found = pattern.exec(line.slice(0, 500))?.[1];
    return found === undefined ? [] : [{ path, line: at + 1, text: found.replace(/\s*(\*\/|-->)\s*$/, "").trim() }];
  });
}

export function show(todos: readonly Todo[]): string {
  if (todos.length === 0) return "nothing is left to do";
  return todos.map(({ path, line, text }) => `${path}:${line}: ${text}`).join("\n");
}

const SKIPPED = new Set(["node_modules", "target", "dist", "build", "vendor"]);
const TEXT = /\.(?:[cm]?[jt]sx?|rs|py|go|java|kt|rb|c|h|cc|cpp|hpp|cs|php|swift|sh|toml|ya?ml|md|css|html|sql)$/;

export const isLookedInto = (name: string): boolean => !name.startsWith(".") && !SKIPPED.has(name);
export const isRead = (name: string): boolean => TEXT.test(name);
