// One of eight: rules over the command, a small memory, an async handler, as people write them.
const RULES = [
  { code: "B1", pattern: /\bgit\s+push\b.*--force(?!-with-lease)/, decision: "deny", reason: "rewrites history" },
  { code: "B2", pattern: /\brm\s+-[a-z]*r[a-z]*f?\s+\//, decision: "deny", reason: "deletes from the root" },
  { code: "B3", pattern: /\b(curl|wget)\b[^|]*\|\s*(ba)?sh\b/, decision: "ask", reason: "runs code from the net" },
];

class Journal {
  #seen = new Map();
  count(code) {
    const next = (this.#seen.get(code) ?? 0) + 1;
    this.#seen.set(code, next);
    return next;
  }
}

const journal = new Journal();

async function judge(command) {
  const found = RULES.filter((rule) => rule.pattern.test(command));
  return found.sort((a, b) => (a.decision < b.decision ? 1 : -1)).at(0);
}

export default {
  name: "MODULE_NAME",
  supports: new Set(["PreToolUse"]),
  priority: 60,
  hotPathSafe: true,
  critical: false,

  async handle(_eventName, ctx) {
    const rule = await judge(ctx.event.command ?? "");
    if (!rule) return { decision: "allow" };
    return { decision: rule.decision, code: rule.code, denyReason: `${rule.reason} (${journal.count(rule.code)})` };
  },
};
