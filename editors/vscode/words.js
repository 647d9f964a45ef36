// What is shown, made from what the server says.
"use strict";

/** The text of the status bar. */
function statusText({ running = 0, queued = 0, lastFailure = null, waiting = [], problem = null }) {
  const parts = [];
  if (running) {
    parts.push(`${running} running`);
  }
  if (queued) {
    parts.push(`${queued} queued`);
  }
  if (waiting.length) {
    parts.push(`${waiting.length} to approve`);
  }
  const warns = lastFailure || waiting.length || problem;
  const icon = running ? "$(sync~spin)" : warns ? "$(warning)" : "$(zap)";
  const failure = lastFailure ? `last failure: ${lastFailure.hook}: ${lastFailure.reason}` : "no failure";
  const notes = [failure];
  if (waiting.length) {
    notes.push(`waiting for approval: ${waiting.join(", ")}`);
  }
  if (problem) {
    notes.push(problem);
  }
  return { text: `${icon} ${parts.join(", ") || "hooks"}`, tooltip: `Dispatch hooks, ${notes.join("; ")}` };
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

/** Whether a run is not over. */
function isGoing(run) {
  return run.status === "running" || run.status === "queued";
}

/** What can be done with a run: a title and the name of the action. */
function runActions(run) {
  if (isGoing(run)) {
    return [["Cancel", "cancel"]];
  }
  const patch = [
    ["Preview patch", "preview"],
    ["Apply patch", "apply"],
  ];
  return [["Retry", "retry"], ...(run.patch ? patch : [])];
}

/** One run as a choice in a list. */
function runItem(run) {
  const files = run.files.map((file) => file.path).join(", ");
  return {
    label: `${run.status === "success" ? "$(check)" : run.status === "running" ? "$(sync~spin)" : "$(warning)"} ${run.hookId}`,
    description: `${run.status}, ${new Date(run.startTs).toLocaleString()}`,
    detail: [files, run.reason].filter(Boolean).join("  ·  "),
    run,
  };
}

/** Everything about one run, as text. */
function runText(run) {
  const rows = [
    ["run", run.id],
    ["hook", run.hookId],
    ["status", run.status],
    ["reason", run.reason],
    ["began", run.startTs],
    ["ended", run.endTs],
    ["attempts", run.attempts],
    ["exit code", run.exitCode],
    ["files", run.files.map((file) => file.path).join(", ")],
    ["tokens", run.usage?.tokens],
  ].filter(([, value]) => value !== undefined && value !== "" && value !== 0);
  const head = rows.map(([name, value]) => `${name}: ${value}`).join("\n");
  return `${head}\n\n${run.logs ?? ""}`;
}

/** What each hook may spend in a day and has spent, from its budget and the runs of today (UTC). */
function budgetText(hooks, runs, today) {
  const spent = (id) =>
    runs.filter((run) => run.hookId === id && run.startTs.startsWith(today)).reduce((sum, run) => sum + (run.usage?.tokens ?? 0), 0);
  const limit = ({ tokensPerDay, microUsdPerDay } = {}) =>
    [tokensPerDay && `${tokensPerDay} tokens`, microUsdPerDay && `${microUsdPerDay / 1e6} USD`].filter(Boolean).join(", ");
  return hooks.map((hook) => `${hook.id}: ${spent(hook.id)} tokens today, limit ${limit(hook.budget) || "none"}`);
}

module.exports = { budgetText, hookIds, isGoing, runActions, runItem, runText, statusText };
