import type { HookContext, HookResult, RoutedEvent } from "./routing-hook";

export const hook = { id: "HOOK_NAME", priority: 0 };

export default (event: RoutedEvent, ctx: HookContext): HookResult | null => {
  // The owner's messages go to the session `main`; everybody else's to a session of their own.
  if (event.contentType !== "text") return null;
  return { fire: true };
};
