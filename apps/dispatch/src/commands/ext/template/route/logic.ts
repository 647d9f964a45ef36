// What the extension decides: functions from values to values. No host here, so a test needs nothing but values.

export function greet(greeting: string, name: string): string {
  return `${greeting}, ${name}!`;
}
