/**
 * The interface of a routing hook: `.dispatch/hooks/<name>.ts`, or the same in the user's configuration folder.
 *
 * A hook looks at an event from outside and says whether it goes to the agent, to which session, with which rights, and
 * where the reply goes. It runs in a worker of its own: no network, no files, no processes, and no clock but `ctx.now`. It
 * may import approved files of its own folder. A hook that does not return in time is stopped.
 */

/** A stored event. */
export interface RoutedEvent {
  /** `CHANNEL:EXTERNALID`. */
  readonly id: string;
  readonly sequence: number;
  readonly channel: string;
  readonly accountId: string;
  /** Who sent it, by the channel's own name. */
  readonly from: string;
  readonly peerKind: "dm" | "group";
  /** The sender of a direct message, or the group. */
  readonly peerId: string;
  readonly threadId?: string;
  readonly content: string;
  readonly contentType: string;
  /** In Unix milliseconds, as the sender says. */
  readonly timestamp: number;
  /** In Unix milliseconds. */
  readonly receivedAt: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Which event caused it, if it is a reply of the agent that came back. */
  readonly origin?: { readonly event: string; readonly hops: number };
}

export interface Person {
  /** The name that the owner gave; `null` for an owner without one. */
  readonly name: string | null;
  readonly isOwner: boolean;
  /** As `CHANNEL:ID`. */
  readonly identities: readonly string[];
}

export interface Invocation {
  readonly event: string;
  readonly outcome: string;
  readonly at: number;
  readonly result: HookResult | null;
}

/** What a hook may ask. Nothing of it changes anything. */
export interface HookContext {
  /** When the event was received, in Unix milliseconds. */
  readonly now: number;
  /** Whether the sender is the owner. */
  readonly isOwner: boolean;
  /** The person behind the sender, or behind another name in the same channel; `null` if nobody named one. */
  person(id?: string): Person | null;
  /** What was said before in the same conversation, oldest first; 20 events unless told. */
  thread(limit?: number): RoutedEvent[];
  /** What this hook decided about earlier events, newest first; 20 unless told. */
  invocations(limit?: number): Invocation[];
}

export type QueueMode = "steer" | "followup" | "collect" | "interrupt";

/** Never more than what the settings allow. In a pattern `*` stands for any text. */
export interface PermissionSet {
  level: "full" | "restricted" | "group" | "minimal";
  tools?: {
    allow?: string[];
    /** Counts more than `allow`. */
    deny?: string[];
  };
  /**
   * The extensions that can use their secrets: a tool whose extension has the capability `secrets` is offered only if one
   * of these matches its extension's id. Not named: all of them for `full`, none for the other levels.
   */
  credentials?: string[];
}

export interface DeliveryContext {
  channel: string;
  accountId?: string;
  peerId?: string;
  threadId?: string;
  replyToId?: string;
}

export interface HookResult {
  /** Whether the event goes to an agent. */
  fire: boolean;
  routing?: {
    /** A file of `.dispatch/personas`; `default` if not named. */
    persona?: string;
    /** Not named: `main` for the owner's direct messages, else a session of the sender or the group. */
    session?: string;
    /** `followup` if not named. */
    queueMode?: QueueMode;
  };
  /** Not named: `full` for the owner, `restricted` for a known person, `minimal` for anybody else. */
  permissions?: PermissionSet;
  /** Not named: back to where the event came from. */
  deliveryContext?: DeliveryContext;
  context?: {
    systemPrompt?: string;
    extracted?: Record<string, unknown>;
    /** `true` if not named. */
    includeThreadHistory?: boolean;
  };
  /** Switches this hook off; of several events at once, one wins. */
  disableHook?: boolean;
}
