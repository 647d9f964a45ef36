// What the extension decides: functions from values to values. No host here, so a test needs nothing but values.

export interface Count {
  runs: number;
}

export function next(before: Count | null): Count {
  return { runs: (before?.runs ?? 0) + 1 };
}
