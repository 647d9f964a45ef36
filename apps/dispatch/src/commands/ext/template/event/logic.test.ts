import { equal, test } from "dispatch:test";
import { summary } from "./logic.ts";

test("says which turn ended and how", () => {
  equal(summary({ session: "main", end: { end: "finished" } }), "the turn of session main ended: finished");
});
