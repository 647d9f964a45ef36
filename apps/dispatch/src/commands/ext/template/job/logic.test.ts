import { equal, test } from "dispatch:test";
import { next } from "./logic.ts";

test("counts from nothing and goes on", () => {
  equal(next(null), { runs: 1 });
  equal(next({ runs: 4 }), { runs: 5 });
});
