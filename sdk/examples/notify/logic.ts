// Which turns are worth a message, and what it says.

export interface Ended {
  session: string;
  end: { end: string; limit?: string; message?: string; error?: { message: string } };
}

export interface Message {
  title: string;
  body: string;
  priority: "default" | "high";
}

export function message(turn: Ended, tookMs: number | null, afterSeconds: number): Message | null {
  const failed = turn.end.end !== "finished" && turn.end.end !== "cancelled";
  const seconds = tookMs === null ? null : Math.round(tookMs / 1000);
  if (turn.end.end === "cancelled" || (!failed && (seconds === null || seconds < afterSeconds))) return null;
  const why = turn.end.message ?? turn.end.error?.message ?? turn.end.limit;
  const took = seconds === null ? "" : ` after ${seconds} s`;
  return {
    title: failed ? "Dispatch: a turn failed" : "Dispatch: a turn is done",
    body: `${turn.session}: ${turn.end.end}${took}${why ? `: ${why}` : ""}`,
    priority: failed ? "high" : "default",
  };
}
