type Decision = "allow" | "ask" | "deny";

interface ToolEvent {
  toolName: string;
  command?: string;
  paths: { path: string; access: string }[];
}

interface Rule {
  code: string;
  pattern: RegExp;
  decision: Decision;
  reason: string;
}

enum Severity {
  Low = 1,
  High = 2,
}

const RULES: Rule[] = [
  { code: "P1", pattern: /\bgit\s+push\b.*--force(?!-with-lease)/, decision: "deny", reason: "rewrites history" },
  { code: "P2", pattern: /\brm\s+-[a-z]*r[a-z]*f?\s+\//, decision: "deny", reason: "deletes from the root" },
  { code: "P3", pattern: /\b(curl|wget)\b[^|]*\|\s*(ba)?sh\b/, decision: "ask", reason: "runs code from the net" },
];

class Journal {
  #seen = new Map<string, number>();

  constructor(private readonly limit: number = 16) {}

  count(code: string): number {
    const next = (this.#seen.get(code) ?? 0) + 1;
    if (this.#seen.size < this.limit) this.#seen.set(code, next);
    return next;
  }
}

const journal = new Journal();

async function judge(event: ToolEvent): Promise<{ rule: Rule; severity: Severity } | undefined> {
  const text = event.command ?? "";
  const found = RULES.filter((rule) => rule.pattern.test(text));
  const ranked = await Promise.all(
    found.map(async (rule) => ({ rule, severity: rule.decision === "deny" ? Severity.High : Severity.Low })),
  );
  return ranked.sort((a, b) => b.severity - a.severity).at(0);
}

export default {
  name: "bench",
  supports: new Set(["PreToolUse"]),
  priority: 50,
  async handle(eventName: string, event: ToolEvent) {
    const verdict = await judge(event);
    if (!verdict) return { decision: "allow" satisfies Decision };
    const { rule, severity } = verdict;
    const times = journal.count(rule.code);
    return { decision: rule.decision, denyReason: `${rule.reason} (${rule.code})`, metrics: { severity, times } };
  },
};
