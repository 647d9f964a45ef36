export default (now, random, origin, log, hostNames, callHost) => {
  const { defineProperty: define, fromEntries, getPrototypeOf } = Object;
  const { Error, JSON, Map, Set, String } = globalThis;
  const { parse, stringify } = JSON;
  const { construct } = Reflect;
  const hide = (object, key, value) =>
    define(object, key, { value, writable: true, enumerable: false, configurable: true });

  const Native = globalThis.Date;
  if (Native) {
    const Date = function Date(...parts) {
      if (!new.target) return new Native(now()).toString();
      return construct(Native, parts.length ? parts : [now()], new.target);
    };
    define(Date, "length", { value: 7 });
    define(Date, "prototype", { value: Native.prototype, writable: false });
    hide(Date, "now", now);
    hide(Date, "parse", Native.parse);
    hide(Date, "UTC", Native.UTC);
    // These exist already, and an assignment keeps them hidden as they are.
    Native.prototype.constructor = Date;
    globalThis.Date = Date;
  }
  hide(globalThis, "performance", {
    now: () => now() - origin(),
    get timeOrigin() {
      return origin();
    },
  });
  Math.random = random;

  const Function = function Function() {
    throw new EvalError("code from strings is disabled");
  };
  define(Function, "prototype", { value: getPrototypeOf(Function), writable: false });
  for (const kind of [function () {}, async function () {}, function* () {}, async function* () {}])
    hide(getPrototypeOf(kind), "constructor", Function);
  globalThis.Function = Function;
  delete globalThis.eval;

  const replace = (key, value) =>
    value instanceof Set ? [...value] : value instanceof Map ? fromEntries(value) : value;
  const encode = (value) => stringify(value, replace);

  const show = (value) => {
    switch (typeof value) {
      case "string":
        return value;
      case "bigint":
        return value + "n";
      case "function":
        return `[Function: ${value.name || "(anonymous)"}]`;
      case "object":
        if (value === null || value instanceof Error) break;
        try {
          return encode(value) ?? "undefined";
        } catch (error) {
          return `[unprintable object: ${error}]`;
        }
      case "number":
        if (value === 0 && 1 / value < 0) return "-0";
    }
    return String(value);
  };
  const write = (level, values) => log(level, values.map(show).join(" ").toWellFormed());
  hide(globalThis, "console", {
    debug: (...values) => write(0, values),
    log: (...values) => write(1, values),
    info: (...values) => write(2, values),
    warn: (...values) => write(3, values),
    error: (...values) => write(4, values),
  });

  if (hostNames.length) {
    const call = (index, name) => ({ [name]: (...values) => parse(callHost(index, encode(values))) })[name];
    hide(globalThis, "host", fromEntries(hostNames.map((name, index) => [name, call(index, name)])));
  }
  return encode;
};
