// What counts as a contact, and what stands in its place.

const PATTERNS: [string, RegExp][] = [
  ["mail address", /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g],
  ["bank account", /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b/g],
  ["telephone number", /(?<![\w.])\+\d{1,3}[ /-]?\(?\d{2,5}\)?(?:[ /-]?\d{2,5}){1,4}\b/g],
];

export interface Redacted {
  text: string;
  /** How many of each kind were taken out. */
  counts: Record<string, number>;
}

export function redact(text: string, keep: readonly string[]): Redacted {
  const counts: Record<string, number> = {};
  const hide = (kind: string) => (found: string): string => {
    if (keep.includes(found)) return found;
    counts[kind] = (counts[kind] ?? 0) + 1;
    return `[${kind}]`;
  };
  return { text: PATTERNS.reduce((left, [kind, pattern]) => left.replace(pattern, hide(kind)), text), counts };
}
