/**
 * The unit tests of an extension: files named `*.test.ts` beside `index.ts`, run by `dispatch ext test`.
 *
 * Each test has ten seconds. There is no host: what a test needs, it passes as values.
 */
declare module "dispatch:test" {
  /** A test. It fails if the function throws or its promise rejects. */
  export function test(name: string, run: () => unknown): void;
  /** Compares values by what they contain. */
  export function equal<Value>(actual: Value, expected: Value, what?: string): void;
  export function notEqual<Value>(actual: Value, unexpected: Value, what?: string): void;
  /** Requires something that counts as true. */
  export function ok(value: unknown, what?: string): void;
  /** Requires an error; its message contains the text or fits the pattern. */
  export function throws(run: () => unknown, expected?: string | RegExp): void;
  /** The same of a promise. */
  export function rejects(run: Promise<unknown> | (() => unknown), expected?: string | RegExp): Promise<void>;
}
