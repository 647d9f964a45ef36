// What the extension decides: functions from values to values. No host here, so a test needs nothing but values.

export function summary(turn: { session: string; end: { end: string } }): string {
  return `the turn of session ${turn.session} ended: ${turn.end.end}`;
}
