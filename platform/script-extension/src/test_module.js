// What `import ... from "dispatch:test"` gives: tests by name, and comparisons that say what differs.

export const tests = [];

export const test = (name, run) => {
  if (typeof name !== "string" || name === "") throw new TypeError("the name of a test must be a text that is not empty");
  if (typeof run !== "function") throw new TypeError(`the test \`${name}\` must be a function`);
  tests.push({ name, run });
};

const shown = (value) => {
  if (typeof value === "function") return `function ${value.name}`;
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Map || value instanceof Set) return `${value.constructor.name}(${shown([...value])})`;
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 500 ? `${text.slice(0, 500)}...` : text;
};

export const same = (a, b) => {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (a instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof Map || a instanceof Set) return same([...a], [...b]);
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]));
};

const fail = (message, what) => {
  throw new Error(what === undefined ? message : `${what}: ${message}`);
};

export const equal = (actual, expected, what) => {
  if (!same(actual, expected)) fail(`expected ${shown(expected)}, got ${shown(actual)}`, what);
};

export const notEqual = (actual, unexpected, what) => {
  if (same(actual, unexpected)) fail(`did not expect ${shown(unexpected)}`, what);
};

export const ok = (value, what) => {
  if (!value) fail(`expected something true, got ${shown(value)}`, what);
};

const fits = (error, expected) => {
  const message = String(error instanceof Error ? error.message : error);
  if (expected !== undefined && !(expected instanceof RegExp ? expected.test(message) : message.includes(expected)))
    fail(`expected an error with ${expected instanceof RegExp ? expected : shown(expected)}, got ${shown(message)}`);
};

export const throws = (run, expected) => {
  try {
    run();
  } catch (error) {
    return fits(error, expected);
  }
  fail("expected an error");
};

export const rejects = async (run, expected) => {
  try {
    await (typeof run === "function" ? run() : run);
  } catch (error) {
    return fits(error, expected);
  }
  fail("expected an error");
};
