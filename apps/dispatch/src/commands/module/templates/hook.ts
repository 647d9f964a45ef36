import type { Context, EventName, HookAction, HookModule } from "./hook-module";

/** Asks before anything is pushed. Replace the rule with your own; `dispatch module test MODULE_NAME` tries it. */
const module: HookModule = {
  name: "MODULE_NAME",
  supports: new Set<EventName>(["PreToolUse"]),
  priority: 70,
  hotPathSafe: true,
  critical: false,

  handle(_eventName: EventName, ctx: Context): HookAction | void {
    const command = ctx.event.command ?? "";
    if (!/\bgit\s+push\b/.test(command)) return;
    ctx.log("info", "a push", { command });
    return {
      decision: "ask",
      code: "MINE01",
      denyReason: "This pushes to a remote. Show the diff first.",
    };
  },
};

export default module;
