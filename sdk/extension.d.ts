/**
 * The interface of an extension: a folder with `manifest.json` and `index.ts`, which exports `activate(host)` and, if it has
 * something to release, `deactivate()`.
 *
 * The code runs in worker processes of its own, with a deadline and 64 MB of memory for each call. It sees the language,
 * timers and the host, and nothing else: no Node. It may import files of its own folder by relative paths, and packages in
 * its own `node_modules` that are plain ECMAScript.
 *
 * A worker runs one call at a time; another one is started when all are busy, and any may be restarted. So variables are
 * not shared between calls: what is to be remembered goes into `storage`. Timers end with the call that set them.
 */

declare global {
  /** Within a call and its deadline. */
  function setTimeout(run: (...args: any[]) => void, ms?: number, ...args: any[]): number;
  function setInterval(run: (...args: any[]) => void, ms?: number, ...args: any[]): number;
  function clearTimeout(id: number | undefined): void;
  function clearInterval(id: number | undefined): void;
}

/** What JSON can say. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Tells a call that its result is no longer wanted. */
export interface CallSignal {
  readonly aborted: boolean;
  throwIfAborted(): void;
  /** The listener is called while the call waits for the host or a timer. */
  addEventListener(type: "abort", listener: (event: { type: "abort" }) => void): void;
  removeEventListener(type: "abort", listener: (event: { type: "abort" }) => void): void;
}

/** What a tool knows about the call. */
export interface ToolContext {
  readonly callId: string;
  readonly session: string;
  /** The folder that the call works in. */
  readonly workdir: string;
  /** Whether the result is no longer wanted. */
  readonly cancelled: boolean;
  readonly signal: CallSignal;
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
  /** Whether calls may overlap others, of this tool too. Each then runs in a worker of its own. */
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

/** One call of a model. */
export interface ModelRequest {
  readonly model: string;
  /** The system prompt, in sections. */
  readonly system: string[];
  /** The history: each message has a `role` and its content in chunks. */
  readonly messages: any[];
  readonly tools: { name: string; description: string; parameters: any; concurrencySafe: boolean }[];
  readonly options: { [name: string]: Json };
}

/** What a model streams. A text stands for `{ type: "text_delta", text }`. */
export type ModelEvent =
  | string
  | { type: "text_delta"; text: string }
  | { type: "reasoning_delta"; text: string }
  | { type: "reasoning_sealed"; signature: string }
  | { type: "tool_call"; id?: string; name: string; arguments: string | { [name: string]: Json } }
  | {
      type: "usage";
      inputTokens?: number;
      cachedInputTokens?: number;
      outputTokens?: number;
      reasoningTokens?: number;
    }
  | { type: "finished"; finish: "stop" | "tool_calls" | "length" | "filtered" };

/** A model on offer; a text is its id. */
export type ModelInfo = string | { id: string; contextTokens?: number };

/**
 * A source of model replies. Its name stands in the manifest under `contributes.providers`; `[model] provider = "NAME"` or a
 * model `NAME/MODEL` choose it.
 */
export interface Provider {
  name: string;
  models?: ModelInfo[] | (() => ModelInfo[] | Promise<ModelInfo[]>);
  /**
   * Yields what the model says. Without `finished` at the end it is `tool_calls` after a tool call, else `stop`. An error with
   * a `kind` (`auth`, `rate_limited`, `unavailable`, `context_length`, `invalid_request`, `network`, `timeout`) is told as that,
   * with `retryAfterMs` if it has one.
   */
  stream(request: ModelRequest, ctx: { readonly signal: CallSignal }): AsyncIterable<ModelEvent> | Iterable<ModelEvent>;
}

/** A credential: a text is sent as `Authorization: Bearer`. */
export type Credential = string | { header: { name: string; value: string } } | null | undefined;

/** A source of credentials for model providers. Its name stands in the manifest under `contributes.auth`. */
export interface Auth {
  name: string;
  /** Nothing if it has none for this server. */
  credential(scope: { provider: string; audience: string }): Credential | Promise<Credential>;
}

/** What the path's `{placeholders}` and the query say. */
export interface RouteRequest {
  readonly path: { readonly [name: string]: string };
  readonly query: { readonly [name: string]: string };
  /** The body as JSON; `null` if there is none. */
  readonly body: any;
  /** Whether the client showed the approval token. */
  readonly isApprover: boolean;
}

/** A request as it arrived. */
export interface RawRouteRequest {
  readonly path: { readonly [name: string]: string };
  readonly query: { readonly [name: string]: string };
  /** By name in lower case. */
  readonly headers: { readonly [name: string]: string };
  readonly body: Uint8Array;
  /** The body as text. */
  text(): string;
}

/** The answer to such a request. */
export interface RawRouteResponse {
  status?: number;
  headers?: { [name: string]: string };
  body?: string | Uint8Array;
}

/** An HTTP route of `dispatch serve`. `METHOD /path` stands in the manifest under `contributes.routes`. */
export type Route = {
  /** `GET` unless said otherwise. */
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD";
  /** For example `/v1/notes/{id}`. */
  path: string;
  /** One sentence for `/openapi.json`. */
  description: string;
} & (
  | {
      raw?: false;
      /** The answer is sent as JSON; `$status` in it is its HTTP status. */
      handle(request: RouteRequest): unknown;
    }
  | {
      /** Headers and bytes, and a status of its own. */
      raw: true;
      /** Who may call it: whoever has the server's token, or anybody, if the route finds out itself who calls. */
      access?: "token" | "own";
      /** 1 MB unless said otherwise, at most 4 MB. */
      maxBodyBytes?: number;
      handle(request: RawRouteRequest): RawRouteResponse | Promise<RawRouteResponse>;
    }
);

/** Work that is due again and again. Its name stands in the manifest under `contributes.jobs`. Needs `spawn`. */
export interface Job {
  name: string;
  /** From the end of one run to the start of the next; the first run comes that long after the start. At least 1,000. */
  everyMs: number;
  run(): unknown;
}

/** The methods of a service, called with JSON and answering with JSON. */
export interface Service {
  [method: string]: (...args: any[]) => any;
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
  "extension.faulted": { readonly extension: string; readonly place: string; readonly kind: string; readonly message: string; readonly atMs: number };
  "extension.disabled": { readonly extension: string; readonly reason: string; readonly atMs: number; readonly filters?: string[] };
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

/** Keys, values and tables of this extension alone. Needs the capability `db`. */
export interface Storage {
  /** `null` if there is nothing. */
  get(key: string): Promise<Json>;
  set(key: string, value: Json): Promise<void>;
  delete(key: string): Promise<void>;
  /** The keys that begin with the prefix, in order. */
  list(prefix?: string): Promise<string[]>;
  /**
   * Runs one SQL statement on the extension's own tables, which `contributes.migrations` of the manifest makes. Parameters
   * are `?1`, `?2`, ...; the answer are the rows, each a list in the order of the columns.
   */
  sql(statement: string, ...parameters: (null | boolean | number | string)[]): Promise<any[][]>;
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

/** The answer of a server that is read while it arrives. */
export interface StreamedResponse {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: { readonly [name: string]: string };
  /** The text, piece by piece. */
  chunks(): AsyncIterable<string>;
  /** The same line by line, as server-sent events are written. */
  lines(): AsyncIterable<string>;
}

/** What a request is made of. */
export interface FetchOptions {
  method?: string;
  headers?: { [name: string]: string };
  body?: string;
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
  defineProvider(provider: Provider): void;
  defineAuth(auth: Auth): void;
  defineRoute(route: Route): void;
  /** An event of the program, or `EXTENSION/NAME` of an extension that the manifest names under `dependsOn`. */
  on<Name extends keyof Events>(event: Name, handler: (payload: Events[Name]) => unknown): void;
  on(event: `${string}/${string}`, handler: (payload: any) => unknown): void;
  /**
   * Joins a filter: the handler answers with the changed value, or with nothing to leave it as it was. Higher priorities
   * run earlier; from -99 to 1000. The program's own guards come last and judge what was made of a call.
   */
  addFilter<Name extends keyof Filters>(
    filter: Name,
    handler: (value: Filters[Name]) => Filters[Name] | undefined | void | Promise<Filters[Name] | undefined | void>,
    options?: { priority?: number },
  ): void;

  /** Offers `ID/NAME` (or `NAME` alone) to other extensions; it stands in the manifest under `contributes.services`. */
  provideService(id: string, service: Service): void;
  /** A service of an extension that the manifest names under `dependsOn`; every method answers with a promise. */
  getService<Methods = { [method: string]: (...args: any[]) => Promise<any> }>(id: string): Methods;
  readonly events: {
    /** Tells an event of this extension, `ID/NAME` (or `NAME` alone), which stands in the manifest under `contributes.hooks`. */
    emit(event: string, payload?: Json): Promise<void>;
  };
  readonly scheduler: { register(job: Job): void };
  readonly permissions: {
    /** What the permission rules say about a tool or capability on a path, command or address. */
    check(request: {
      permission: string;
      target?: string;
    }): Promise<{ verdict: "allow" | "ask" | "deny"; rule: number | null; reason: string }>;
  };
  /** Secrets of this extension alone; they are taken out of its log. Needs the capability `secrets`. */
  readonly secrets: {
    /** `null` if there is none. */
    get(name: string): Promise<string | null>;
    set(name: string, value: string): Promise<void>;
    delete(name: string): Promise<void>;
  };

  /** A part of the extension's own store. */
  storage(namespace: string): Storage;
  /** Needs the capability `network`. Only http and https; redirects to other servers are not followed. */
  fetch(url: string, options: FetchOptions & { stream: true }): Promise<StreamedResponse>;
  fetch(url: string, options?: FetchOptions & { stream?: false }): Promise<FetchResponse>;
  /** Files of the project, without the folders that hold rules and approvals. Needs the capability `fs`. */
  readonly files: {
    read(path: string): Promise<string>;
    write(path: string, content: string): Promise<void>;
    list(path?: string): Promise<{ name: string; kind: "file" | "folder" | "other" }[]>;
  };
}
