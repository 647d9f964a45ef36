import { call } from "dispatch:host";

/** What the host was not told yet, what it works on, and what is due later. One call runs at a time. */
let begun = [];
let pending = new Map();
let timers = new Map();
let listeners = new Set();
let aborted = false;
let lastId = 0;

/** Asks the host for something that may take a while. It is told when nothing else is left to run, all at once. */
const ask = (operation, ...args) => {
  const id = ++lastId;
  const asked = { error: new Error() };
  asked.promise = new Promise((resolve, reject) => Object.assign(asked, { resolve, reject }));
  pending.set(id, asked);
  begun.push([id, operation, args]);
  return asked.promise;
};

const abort = () => {
  if (aborted) return;
  aborted = true;
  for (const listener of [...listeners]) listener({ type: "abort" });
};

const signal = {
  get aborted() {
    if (!aborted && call("cancelled")) abort();
    return aborted;
  },
  throwIfAborted() {
    if (signal.aborted) throw new Error("the call was cancelled");
  },
  addEventListener: (type, listener) => void (type === "abort" && listeners.add(listener)),
  removeEventListener: (type, listener) => void listeners.delete(listener),
};

/** What tells a call that its result is no longer wanted. */
const abortable = () => ({ signal });

const addTimer = (run, ms, repeat, args) => {
  if (typeof run !== "function") throw new TypeError("a timer needs a function");
  const every = Math.max(Number(ms) || 0, repeat ? 1 : 0);
  const id = ++lastId;
  timers.set(id, { run: () => run(...args), at: Date.now() + every, every, repeat });
  return id;
};

const define = (name, value) =>
  Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
define("setTimeout", (run, ms = 0, ...args) => addTimer(run, ms, false, args));
define("setInterval", (run, ms = 0, ...args) => addTimer(run, ms, true, args));
define("clearTimeout", (id) => void timers.delete(id));
define("clearInterval", (id) => void timers.delete(id));

const runDueTimers = () => {
  const now = Date.now();
  const due = [...timers].filter(([, timer]) => timer.at <= now).sort(([, a], [, b]) => a.at - b.at);
  for (const [id, timer] of due) {
    if (!timers.has(id)) continue;
    if (timer.repeat) timer.at = now + timer.every;
    else timers.delete(id);
    timer.run();
  }
  return due.length > 0;
};

/** The error as if it were thrown where the extension asked. */
const explained = (error, message) => {
  error.message = message;
  error.stack = error.stack.split("\n").filter((line) => !line.includes("dispatch:")).join("\n");
  return error;
};

/** Waits for the host or a timer; answers whether there was something to wait for. */
const whenIdle = () => {
  if (runDueTimers()) return true;
  if (pending.size === 0 && timers.size === 0) return false;
  const next = timers.size ? Math.min(...[...timers.values()].map((timer) => timer.at)) : null;
  const told = begun;
  begun = [];
  const { done, cancelled } = call("wait", told, next === null ? null : Math.max(next - Date.now(), 0));
  for (const [id, failure, value] of done) {
    const asked = pending.get(id);
    pending.delete(id);
    if (failure === null) asked?.resolve(value);
    else asked?.reject(explained(asked.error, failure));
  }
  if (cancelled) abort();
  return true;
};

/** Runs one call and waits for everything that it asked for; timers end with it. */
const settled = async (run) => {
  begun = [];
  pending = new Map();
  timers = new Map();
  listeners = new Set();
  aborted = false;
  try {
    return await run();
  } finally {
    timers.clear();
    while (pending.size > 0) await Promise.allSettled([...pending.values()].map(({ promise }) => promise));
  }
};

export const waiting = { ask, abortable, settled, whenIdle };
