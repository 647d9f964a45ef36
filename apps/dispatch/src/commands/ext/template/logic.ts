// What the extension decides: functions from values to values, without the host.

export function greet(greeting: string, name: string): string {
  return `${greeting}, ${name}!`;
}
