/**
 * The interface of a script module of the hook pipeline: `.ai/hooks/features/<name>/hook.ts` or `hook.mjs`.
 *
 * A module runs in an engine of its own: no network, no processes, no clock but `ctx.timers` and `Date.now()`, and no
 * files but those of the workspace, through `ctx.readText`. It may import approved files of its own folder and of
 * `.ai/hooks/lib`. A module that does not end within the budget of its event is stopped.
 */

/** The events that every module can rely on; hosts may fire others under names of their own. */
export type EventName =
  | "SessionStart"
  | "UserPromptSubmit"
  | "PreToolUse"
  | "PostToolUse"
  | "PreCompact"
  | "Stop"
  | "SubagentStart"
  | "SubagentStop";

/** No objection, ask the user, or refuse. The stronger one wins: deny over ask over allow. */
export type Decision = "allow" | "ask" | "deny";

export type ToolKind = "read" | "search" | "write" | "execute" | "fetch" | "agent" | "mcp" | "other";

export interface PathAccess {
  /** Absolute. */
  readonly path: string;
  readonly access: "read" | "write" | "create" | "delete";
}

export interface HookEvent {
  readonly name: EventName | (string & {});
  /** The host's id, such as `claude-code`. */
  readonly host: string;
  readonly toolName: string | null;
  /** The input in force, after any rewrite. */
  readonly toolInput: any;
  readonly toolUseId: string | null;
  /** What the tool is for; null for events without a tool. */
  readonly kind: ToolKind | null;
  /** What the call touches, as far as it is known; null for events without a tool. */
  readonly paths: readonly PathAccess[] | null;
  /** The command line, if the tool runs one. */
  readonly command: string | null;
  readonly toolResponse: any;
  readonly prompt: string | null;
  readonly transcriptPath: string | null;
  readonly cwd: string | null;
  /** The payload as the host sent it. */
  readonly raw: any;
}

export interface Context {
  readonly ids: {
    readonly sessionId: string;
    readonly workId: string;
    /** `u00` for the main agent, `a01` and on for subagents. */
    readonly agentId: string;
    readonly turnId: number;
    readonly hookRunId: string;
  };
  readonly event: HookEvent;
  readonly paths: {
    readonly repoRoot: string;
    readonly hooksRoot: string;
    readonly workRoot: string;
    readonly sessionRoot: string;
    readonly stateFile: string;
    readonly eventsFile: string;
    readonly registryFile: string;
    readonly configFile: string;
    readonly policyFile: string;
    readonly followupRulesFile: string;
    readonly manifestFile: string;
    readonly schemaDir: string;
    featureRoot(slug: string): string;
    featureLogs(slug: string): string;
    featureOutput(slug: string): string;
    /** Below the session's folder, or null. */
    relRef(path: string): string | null;
    /** Below the workspace, or null. */
    repoRelative(path: string): string | null;
  };
  /** The session's state; written through `statePatch` only. */
  readonly state: any;
  /** The module's own section of `.ai/hooks/config.json`; `{}` if it has none. */
  readonly config: any;
  readonly feature: { readonly root: string; readonly logs: string; readonly output: string };
  readonly cap: { readonly neo4j: { readonly enabled: boolean; readonly reachable: boolean } };
  readonly timers: { readonly startMs: number; readonly budgetMs: number; elapsed(): number };
  /** Writes to the module's `logs/debug.log`. */
  log(level: "debug" | "info" | "warn" | "error", message: string, data?: unknown): void;
  /** A text file of the workspace; null if there is none. */
  readText(path: string): string | null;
}

/** Everything a module can answer. All of it is optional; nothing at all means no opinion. */
export interface HookAction {
  decision?: Decision;
  /** With no objection: permitted on purpose, so the host need not ask the user. */
  grant?: boolean;
  /** Why it is denied or asked about, in one or two sentences; say the safer way. */
  denyReason?: string;
  /** A stable name of the rule, such as `NP01`; `dispatch allow-once NP01` excuses it for a while. */
  code?: string;
  /** Keys of the tool input to overwrite; counts only for the manifest's `rewriteOwner`. */
  updatedInput?: Record<string, unknown>;
  /** Text for the model. */
  additionalContext?: { key?: string; value: string }[];
  /** Text for the user, where the host can show it. */
  systemMessage?: string;
  /** After a tool: what the model sees in place of its result; the first module that gives one counts. */
  updatedOutput?: unknown;
  /** Why the agent should stop altogether; a host that cannot stop refuses the call instead. */
  halt?: string;
  /** A merge patch of the state: pointers that may be written twice, no lists and no counters. */
  statePatch?: Record<string, unknown>;
  /** Records for `events.jsonl`. */
  emitEvents?: { type: string; [fact: string]: unknown }[];
  /** Lines for `registry.jsonl`. */
  registerArtifacts?: { kind?: string; path: string; sha256?: string; bytes?: number; [more: string]: unknown }[];
  /** Sentences for people. */
  warnings?: string[];
  metrics?: Record<string, unknown>;
  /** Files below the module's own output folder. */
  files?: { path: string; content: string; mode?: "replace" | "append" }[];
}

export interface HookModule {
  /** The name of the module's folder. */
  name: string;
  supports: ReadonlySet<EventName> | readonly EventName[];
  /** Lower runs first; native modules use 0 to 100. */
  priority?: number;
  /** Whether it may run before a tool call. */
  hotPathSafe?: boolean;
  /** Whether its failure refuses a tool call. */
  critical?: boolean;
  handle(eventName: EventName, ctx: Context): HookAction | void | Promise<HookAction | void>;
}
