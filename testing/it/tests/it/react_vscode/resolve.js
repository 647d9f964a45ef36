// Whether everything that a packed extension requires is in the package; prints what is not, and how many files there are.
"use strict";

const fs = require("node:fs");
const { createRequire, isBuiltin } = require("node:module");
const path = require("node:path");

const root = process.argv[2];
const main = path.join(root, JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")).main);
const seen = new Set([main]);
const missing = [];
for (const file of seen) {
  const text = file.endsWith(".js") ? fs.readFileSync(file, "utf8") : "";
  for (const [, name] of text.matchAll(/\brequire\(["']([^"']+)["']\)/g)) {
    if (name === "vscode" || isBuiltin(name)) {
      continue;
    }
    try {
      const found = createRequire(file).resolve(name);
      (found.startsWith(root) ? seen.add(found) : missing.push(`${name} is outside: ${found}`));
    } catch {
      missing.push(`${path.relative(root, file)} requires ${name}`);
    }
  }
}
console.log(JSON.stringify({ name: "missing", value: missing }));
console.log(JSON.stringify({ name: "files", value: seen.size }));
