// What is kept of the checks, and how it is shown.

export interface Check {
  at: number;
  /** The status of the answer, or why there was none. */
  said: string;
  ok: boolean;
}

export const MAX_CHECKS = 500;

export function add(before: readonly Check[], check: Check): Check[] {
  return [...before, check].slice(-MAX_CHECKS);
}

export function show(url: string, checks: readonly Check[]): string {
  const last = checks.at(-1);
  if (last === undefined) return `${url}: not asked yet`;
  const up = checks.filter((check) => check.ok).length;
  const share = ((100 * up) / checks.length).toFixed(1);
  const state = last.ok ? "answers" : `does not answer (${last.said})`;
  return `${url} ${state}; ${share} % of ${checks.length} checks, the last at ${new Date(last.at).toISOString()}`;
}

/** Whether somebody should be told: only when it changes. */
export const changed = (before: readonly Check[], check: Check): boolean => before.at(-1)?.ok !== check.ok;
