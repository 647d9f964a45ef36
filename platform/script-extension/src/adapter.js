import { call } from "dispatch:host";
import * as extension from "./ENTRY";

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

const register = (kind, entry) => {
  if (!registered.open) throw new Error("register tools, commands and handlers in `activate`, not later");
  registered[kind].push(entry);
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
    get: async (key) => call("storage.get", namespace, key),
    set: async (key, value) => {
      if (value === undefined) throw new TypeError("`undefined` cannot be stored; use `delete`");
      call("storage.set", namespace, key, value);
    },
    delete: async (key) => void call("storage.delete", namespace, key),
    list: async (prefix = "") => call("storage.list", namespace, prefix),
  };
};

const fetch = async (url, options = {}) => {
  const answer = call("fetch", String(url), options.method ?? "GET", options.headers ?? {}, options.body ?? null);
  return {
    ...answer,
    ok: answer.status >= 200 && answer.status < 300,
    text: async () => answer.body,
    json: async () => JSON.parse(answer.body),
  };
};

const files = {
  read: async (path) => call("files.read", path),
  write: async (path, content) => void call("files.write", path, content),
  list: async (path = ".") => call("files.list", path),
};

const log = (level) => (message, fields = {}) => void call("log", level, String(message), fields);
const logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };

const makeHost = ({ id, version, workdir, settings }) => ({
  extension: { id, version },
  workdir,
  settings,
  defineTool,
  defineCommand,
  on,
  addFilter,
  storage,
  fetch,
  files,
  logger,
});

const activate = (given) =>
  (activation ??= (async () => {
    registered = { open: true, tools: [], commands: [], events: [], filters: [] };
    try {
      await callable(extension.activate, "the export `activate`")(makeHost(given));
    } catch (error) {
      activation = undefined;
      throw error;
    }
    registered.open = false;
  })());

export const start = async (given) => {
  await activate(given);
  const { tools, commands, events, filters } = registered;
  return { tools, commands, events, filters };
};

const callTool = async (name, args, context) => {
  const tool = registered.tools.find((tool) => tool.name === name);
  if (!tool) throw new Error(`the tool \`${name}\` is not there any more`);
  const ctx = {
    ...context,
    output: (text) => void call("output", String(text)),
    get cancelled() {
      return call("cancelled");
    },
  };
  const result = await tool.execute(args, ctx);
  if (typeof result === "string") return result;
  return JSON.stringify(result) ?? "";
};

const runCommand = async (name, args) => {
  const command = registered.commands.find((command) => command.name === name);
  if (!command) throw new Error(`the command \`${name}\` is not there any more`);
  return (await command.run(args)) ?? null;
};

export const invoke = async (given, kind, which, input, context) => {
  await activate(given);
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
  }
  throw new Error(`unknown call ${kind}`);
};

export const stop = async (given) => {
  if (!activation) return null;
  await activation;
  if (typeof extension.deactivate === "function") await extension.deactivate();
  return null;
};
