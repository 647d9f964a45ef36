import { equal, test } from "dispatch:test";
import { message } from "./logic.ts";

const turn = (end: string, more = {}) => ({ session: "main", end: { end, ...more } });

test("long turns and failures are told, short and cancelled ones are not", () => {
  equal(message(turn("finished"), 5_000, 60), null);
  equal(message(turn("finished"), null, 60), null);
  equal(message(turn("cancelled"), 500_000, 60), null);
  equal(message(turn("finished"), 61_000, 60)?.body, "main: finished after 61 s");
  equal(message(turn("provider_failed", { error: { message: "no key" } }), 1_000, 60), {
    title: "Dispatch: a turn failed",
    body: "main: provider_failed after 1 s: no key",
    priority: "high",
  });
});
