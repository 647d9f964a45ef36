import type { Host } from "dispatch-sdk";
import { message } from "./logic.ts";

export function activate(host: Host): void {
  const url = String(host.settings.url ?? "");
  const afterSeconds = Number(host.settings.afterSeconds ?? 60);
  // Both handlers run in the same worker, which may be restarted: a turn whose start is forgotten has no duration.
  const started = new Map<string, number>();

  host.on("turn.started", (turn) => {
    if (started.size > 1_000) started.clear();
    started.set(turn.turn, Date.now());
  });
  host.on("turn.sealed", async (turn) => {
    const start = started.get(turn.turn);
    started.delete(turn.turn);
    const told = message(turn, start === undefined ? null : Date.now() - start, afterSeconds);
    if (told === null || url === "") return;
    const headers = { Title: told.title, Priority: told.priority };
    const answer = await host.fetch(url, { method: "POST", headers, body: told.body });
    if (!answer.ok) host.logger.warn(`the message was not taken: status ${answer.status}`);
  });
}
