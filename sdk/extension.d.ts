/**
 * The interface of an extension: a folder with `manifest.json` and `index.ts`, which exports `activate(host)` and, if it has
 * something to release, `deactivate()`.
 *
 * The code runs in worker processes of its own, with a deadline and 64 MB of memory for each call. It sees the language and
 * the host, and nothing else: no timers, no Node, no packages. It may import files of its own folder by relative paths.
 *
 * Tools and commands run in one worker, events and filters in another, so variables are not shared between the two, and
 * either may be restarted: what is to be remembered goes into `storage`.
 */

/** What JSON can say. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** What a tool knows about the call. */
export interface ToolContext {
  readonly callId: string;
  readonly session: string;
  /** The folder that the call works in. */
  readonly workdir: string;
  /** Whether the result is no longer wanted. */
  readonly cancelled: boolean;
  /** Shows output while the call runs. */
  output(text: string): void;
}

/** A tool that the model can call. Its name stands in the manifest under `contributes.tools`. */
export interface Tool {
  name: string;
  /** What it does, for the model. */
  description: string;
  /** JSON Schema of the arguments; what does not fit is refused before `execute` is called. */
  parameters?: { [name: string]: unknown };
  /** Whether calls may overlap calls of other tools. */
  concurrencySafe?: boolean;
  /** How long a call may take: 30,000 unless said otherwise, at most 600,000. */
  timeoutMs?: number;
  /** A text is what the model reads; anything else is written as JSON. An error is told to the model. */
  execute(args: { [name: string]: any }, ctx: ToolContext): unknown;
}

/** A command that people call with `dispatch run NAME`. Its name stands in the manifest under `contributes.commands`. */
export interface Command {
  name: string;
  /** One sentence for the list of commands. */
  description: string;
  /** A text is printed as it is, anything else as JSON. */
  run(args: string[]): unknown;
}

/** Which turn of which session. */
export interface TurnRef {
  readonly session: string;
  readonly turn: string;
  readonly workdir: string;
}

/** A call of a tool. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: { [name: string]: any };
}

/** A call that has not run yet. */
export interface ToolBefore extends TurnRef {
  /** The arguments may be changed; the name and the id stay. */
  call: ToolCall;
  /** Set it to refuse the call. Another one's refusal stays. */
  denied?: { code: string; reason: string };
  /** What a person must decide first. Add to it; what is there stays. */
  questions?: { code: string; reason: string }[];
}

/** A call and its result, before the model reads it. */
export interface ToolAfter extends TurnRef {
  readonly call: ToolCall;
  /** The text may be changed. */
  result: { [name: string]: any };
}

/** The events of the program. Handlers only observe: whatever they do, the turn goes on. */
export interface Events {
  "turn.started": TurnRef & { readonly model: string };
  "turn.sealed": TurnRef & { readonly end: any; readonly usage: any };
  "row.recorded": { readonly session: string; readonly row: any };
  "extension.faulted": { readonly extension: string; readonly place: string; readonly message: string };
  "extension.disabled": { readonly extension: string; readonly reason: string };
}

/** The filters of the program. */
export interface Filters {
  /** Before a tool runs. A handler that fails or hangs refuses the call. */
  "tool.before": ToolBefore;
  /** After a tool ran. */
  "tool.after": ToolAfter;
  /** Before a model is asked. */
  "request.before": TurnRef & { request: any };
}

/** Keys and values of this extension alone. Needs the capability `db`. */
export interface Storage {
  /** `null` if there is nothing. */
  get(key: string): Promise<Json>;
  set(key: string, value: Json): Promise<void>;
  delete(key: string): Promise<void>;
  /** The keys that begin with the prefix, in order. */
  list(prefix?: string): Promise<string[]>;
}

/** The answer of a server. */
export interface FetchResponse {
  readonly status: number;
  /** Whether the status is one from 200 to 299. */
  readonly ok: boolean;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
  text(): Promise<string>;
  json(): Promise<any>;
}

/** Writes into the program's log in the extension's name. */
export interface Logger {
  debug(message: string, fields?: { [name: string]: Json }): void;
  info(message: string, fields?: { [name: string]: Json }): void;
  warn(message: string, fields?: { [name: string]: Json }): void;
  error(message: string, fields?: { [name: string]: Json }): void;
}

/** What `activate` receives. What it registers is registered there, not later. */
export interface Host {
  readonly extension: { readonly id: string; readonly version: string };
  /** The folder of the project. */
  readonly workdir: string;
  /** The extension's own settings: `[extensions.ID]` in dispatch.toml, checked by the manifest's `settingsSchema`. */
  readonly settings: { readonly [name: string]: any };
  readonly logger: Logger;

  defineTool(tool: Tool): void;
  defineCommand(command: Command): void;
  on<Name extends keyof Events>(event: Name, handler: (payload: Events[Name]) => unknown): void;
  /**
   * Joins a filter: the handler answers with the changed value, or with nothing to leave it as it was. Higher priorities
   * run earlier; from -99 to 1000. The program's own guards come last and judge what was made of a call.
   */
  addFilter<Name extends keyof Filters>(
    filter: Name,
    handler: (value: Filters[Name]) => Filters[Name] | undefined | void | Promise<Filters[Name] | undefined | void>,
    options?: { priority?: number },
  ): void;

  /** A part of the extension's own store. */
  storage(namespace: string): Storage;
  /** Needs the capability `network`. Only http and https; redirects to other servers are not followed. */
  fetch(
    url: string,
    options?: { method?: string; headers?: { [name: string]: string }; body?: string },
  ): Promise<FetchResponse>;
  /** Files of the project, without the folders that hold rules and approvals. Needs the capability `fs`. */
  readonly files: {
    read(path: string): Promise<string>;
    write(path: string, content: string): Promise<void>;
    list(path?: string): Promise<{ name: string; kind: "file" | "folder" | "other" }[]>;
  };
}
