// What is shown, made from what the server says.
"use strict";

/** The text of the status bar. */
function statusText({ running = 0, queued = 0, lastFailure = null }) {
  const parts = [];
  if (running) {
    parts.push(`${running} running`);
  }
  if (queued) {
    parts.push(`${queued} queued`);
  }
  const icon = running ? "$(sync~spin)" : lastFailure ? "$(warning)" : "$(zap)";
  const failure = lastFailure ? `last failure: ${lastFailure.hook}: ${lastFailure.reason}` : "no failure";
  return { text: `${icon} ${parts.join(", ") || "hooks"}`, tooltip: `Dispatch hooks, ${failure}` };
}

/** The hooks that a file names; none if it cannot be read. */
function hookIds(text) {
  try {
    const hooks = JSON.parse(text).hooks;
    return Array.isArray(hooks) ? hooks.map((hook) => hook?.id).filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}

module.exports = { hookIds, statusText };
