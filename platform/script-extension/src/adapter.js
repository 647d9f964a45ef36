import { call } from "dispatch:host";
import { waiting } from "dispatch:waiting";
import * as extension from "./ENTRY";

const { ask, abortable, settled } = waiting;
export const { whenIdle } = waiting;

let activation;
let registered;

const text = (value, what) => {
  if (typeof value !== "string" || value === "") throw new TypeError(`${what} must be a text that is not empty`);
  return value;
};
const callable = (value, what) => {
  if (typeof value !== "function") throw new TypeError(`${what} must be a function`);
  return value;
};
const object = (value, what) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TypeError(`${what} must be an object`);
  return value;
};

const KINDS = ["tools", "commands", "events", "filters", "providers", "auth", "routes", "jobs", "services"];

const register = (kind, entry) => {
  if (!registered.open) throw new Error("register tools, commands, handlers and the like in `activate`, not later");
  registered[kind].push(entry);
};

/** What was registered under this name. */
const find = (kind, word, name) => {
  const entry = registered[kind].find((entry) => entry.name === name);
  if (!entry) throw new Error(`the ${word} \`${name}\` is not there any more`);
  return entry;
};

const defineTool = (tool) => {
  object(tool, "the tool");
  const name = text(tool.name, "`name` of the tool");
  register("tools", {
    name,
    description: text(tool.description, `\`description\` of the tool \`${name}\``),
    parameters: object(tool.parameters ?? { type: "object", properties: {} }, `\`parameters\` of the tool \`${name}\``),
    concurrencySafe: tool.concurrencySafe === true,
    timeoutMs: tool.timeoutMs ?? null,
    execute: callable(tool.execute, `\`execute\` of the tool \`${name}\``).bind(tool),
  });
};

const defineCommand = (command) => {
  object(command, "the command");
  const name = text(command.name, "`name` of the command");
  register("commands", {
    name,
    description: text(command.description, `\`description\` of the command \`${name}\``),
    run: callable(command.run, `\`run\` of the command \`${name}\``).bind(command),
  });
};

const defineProvider = (provider) => {
  object(provider, "the provider");
  const name = text(provider.name, "`name` of the provider");
  const models = provider.models ?? [];
  register("providers", {
    name,
    models: typeof models === "function" ? models.bind(provider) : () => models,
    stream: callable(provider.stream, `\`stream\` of the provider \`${name}\``).bind(provider),
  });
};

const defineAuth = (auth) => {
  object(auth, "the credential source");
  const name = text(auth.name, "`name` of the credential source");
  register("auth", {
    name,
    credential: callable(auth.credential, `\`credential\` of the credential source \`${name}\``).bind(auth),
  });
};

const defineRoute = (route) => {
  object(route, "the route");
  const method = text(route.method ?? "GET", "`method` of the route").toUpperCase();
  const path = text(route.path, "`path` of the route");
  const name = `${method} ${path}`;
  register("routes", {
    name,
    method,
    path,
    description: text(route.description, `\`description\` of the route \`${name}\``),
    raw: route.raw === true,
    access: route.access ?? "token",
    maxBodyBytes: route.maxBodyBytes ?? null,
    handle: callable(route.handle, `\`handle\` of the route \`${name}\``).bind(route),
  });
};

const scheduler = {
  register: (job) => {
    object(job, "the job");
    const name = text(job.name, "`name` of the job");
    register("jobs", {
      name,
      everyMs: job.everyMs ?? null,
      run: callable(job.run, `\`run\` of the job \`${name}\``).bind(job),
    });
  },
};

const on = (id, handler) => register("events", { id: text(id, "the event"), handler: callable(handler, "the handler") });

const addFilter = (id, handler, options = {}) =>
  register("filters", {
    id: text(id, "the filter"),
    priority: options.priority ?? 0,
    handler: callable(handler, "the handler"),
  });

const storage = (namespace) => {
  text(namespace, "the namespace");
  return {
    get: (key) => ask("storage.get", namespace, key),
    set: async (key, value) => {
      if (value === undefined) throw new TypeError("`undefined` cannot be stored; use `delete`");
      await ask("storage.set", namespace, key, value);
    },
    delete: (key) => ask("storage.delete", namespace, key),
    list: (prefix = "") => ask("storage.list", namespace, prefix),
    sql: (statement, ...parameters) => ask("storage.sql", namespace, statement, parameters),
  };
};

const secrets = {
  get: (name) => ask("secrets.get", name),
  set: (name, value) => ask("secrets.set", name, value),
  delete: (name) => ask("secrets.delete", name),
};

const permissions = {
  check: async (request) => call("permissions.check", object(request, "the request")),
};

/** The body of an answer that arrives piece by piece. */
async function* pieces(handle) {
  try {
    for (let piece; (piece = await ask("fetch.read", handle)) !== null; ) yield piece;
  } finally {
    call("fetch.close", handle);
  }
}

async function* lines(handle) {
  let rest = "";
  for await (const piece of pieces(handle)) {
    const parts = (rest + piece).split("\n");
    rest = parts.pop();
    for (const part of parts) yield part.endsWith("\r") ? part.slice(0, -1) : part;
  }
  if (rest !== "") yield rest;
}

const fetch = async (url, options = {}) => {
  const { method = "GET", headers = {}, body = null, stream = false } = options;
  const { handle, ...answer } = await ask("fetch", String(url), method, headers, body, stream === true);
  const ok = answer.status >= 200 && answer.status < 300;
  if (stream === true) return { ...answer, ok, chunks: () => pieces(handle), lines: () => lines(handle) };
  return { ...answer, ok, text: async () => answer.body, json: async () => JSON.parse(answer.body) };
};

const files = {
  read: (path) => ask("files.read", path),
  write: (path, content) => ask("files.write", path, content),
  list: (path = ".") => ask("files.list", path),
};

const log = (level) => (message, fields = {}) => void call("log", level, String(message), fields);
const logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };

/** The id of a hook or service of this extension, which may be said without its owner. */
const owned = (owner, id) => (id.includes("/") ? id : `${owner}/${id}`);

const provideService = (owner) => (id, methods) => {
  object(methods, "the service");
  register("services", { name: owned(owner, text(id, "the service")), methods });
};

const getService = (id) => {
  text(id, "the service");
  const method = (name) => (...args) => ask("service.call", id, name, args);
  // A service that is awaited is not a promise.
  return new Proxy({}, { get: (_, name) => (name === "then" || typeof name === "symbol" ? undefined : method(name)) });
};

const makeHost = ({ id, version, workdir, settings }) => ({
  extension: { id, version },
  workdir,
  settings,
  defineTool,
  defineCommand,
  defineProvider,
  defineAuth,
  defineRoute,
  on,
  addFilter,
  provideService: provideService(id),
  getService,
  events: { emit: (event, payload = null) => ask("events.emit", owned(id, text(event, "the event")), payload) },
  scheduler,
  storage,
  secrets,
  permissions,
  fetch,
  files,
  logger,
});

const activate = (given) =>
  (activation ??= (async () => {
    registered = Object.fromEntries(KINDS.map((kind) => [kind, []]));
    registered.open = true;
    try {
      await callable(extension.activate, "the export `activate`")(makeHost(given));
    } catch (error) {
      activation = undefined;
      throw error;
    }
    registered.open = false;
  })());

export const start = (given) =>
  settled(async () => {
    await activate(given);
    const { services, ...others } = registered;
    const named = services.map(({ name, methods }) => ({
      name,
      methods: Object.keys(methods).filter((method) => typeof methods[method] === "function"),
    }));
    return { ...Object.fromEntries(KINDS.map((kind) => [kind, others[kind]])), services: named };
  });

const callTool = async (name, args, context) => {
  const tool = find("tools", "tool", name);
  const ctx = { ...context, output: (text) => void call("output", String(text)), ...abortable() };
  Object.defineProperty(ctx, "cancelled", { get: () => ctx.signal.aborted });
  const result = await tool.execute(args, ctx);
  if (typeof result === "string") return result;
  return JSON.stringify(result) ?? "";
};

const runCommand = async (name, args) => (await find("commands", "command", name).run(args)) ?? null;

/** A model event as the contract has it: a text stands for more text, and arguments may be an object. */
const modelEvent = (event) => {
  if (typeof event === "string") return { type: "text_delta", text: event };
  object(event, "a model event");
  if (event.type !== "tool_call") return event;
  const { id = "", name, arguments: given = {} } = event;
  return { type: "tool_call", id, name, arguments: typeof given === "string" ? given : JSON.stringify(given) };
};

const streamModel = async (name, request) => {
  const provider = find("providers", "provider", name);
  let last;
  let calls = false;
  try {
    for await (const given of provider.stream(request, abortable())) {
      const event = modelEvent(given);
      calls ||= event.type === "tool_call";
      last = event.type;
      if (!call("model.event", event) || last === "finished") return null;
    }
  } catch (error) {
    const { kind = null, retryAfterMs = null } = error ?? {};
    if (typeof kind !== "string") throw error;
    return { kind, message: String(error.message ?? error), retryAfterMs };
  }
  if (last !== "finished") call("model.event", { type: "finished", finish: calls ? "tool_calls" : "stop" });
  return null;
};

const listModels = async (name) => {
  const models = await find("providers", "provider", name).models();
  return models.map((model) => (typeof model === "string" ? { id: model } : model));
};

const giveCredential = async (name, scope) => {
  const credential = (await find("auth", "credential source", name).credential(scope)) ?? null;
  return typeof credential === "string" ? { bearer: credential } : credential;
};

const bytesOf = (encoded) => Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
const encodedBytes = (bytes) => {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
};

const answerRoute = async (name, request) => {
  const route = find("routes", "route", name);
  if (!route.raw) return (await route.handle(request)) ?? null;
  const body = bytesOf(request.body);
  const answer = object((await route.handle({ ...request, body, text: () => request.text })) ?? {}, "the answer of the route");
  const { status = 200, headers = {}, body: given = "" } = answer;
  if (typeof given === "string") return { status, headers, text: given };
  return { status, headers, bytes: encodedBytes(given) };
};

const serve = async (name, { method, args }) => {
  const { methods } = find("services", "service", name);
  if (typeof methods[method] !== "function") throw new TypeError(`the service \`${name}\` has no method \`${method}\``);
  return (await methods[method](...args)) ?? null;
};

const answer = async (kind, which, input, context) => {
  switch (kind) {
    case "tool":
      return callTool(which, input, context);
    case "command":
      return runCommand(which, input);
    case "event":
      await registered.events[which].handler(input);
      return null;
    case "filter":
      return (await registered.filters[which].handler(input)) ?? null;
    case "stream":
      return streamModel(which, input);
    case "models":
      return listModels(which);
    case "credential":
      return giveCredential(which, input);
    case "route":
      return answerRoute(which, input);
    case "job":
      await find("jobs", "job", which).run();
      return null;
    case "service":
      return serve(which, input);
  }
  throw new Error(`unknown call ${kind}`);
};

export const invoke = (given, kind, which, input, context) =>
  settled(async () => {
    await activate(given);
    return answer(kind, which, input, context);
  });

export const stop = (given) =>
  settled(async () => {
    if (!activation) return null;
    await activation;
    if (typeof extension.deactivate === "function") await extension.deactivate();
    return null;
  });
