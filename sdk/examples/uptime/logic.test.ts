import { equal, test } from "dispatch:test";
import { add, changed, MAX_CHECKS, show, type Check } from "./logic.ts";

const at = (ok: boolean, said = "status 200"): Check => ({ at: 0, said, ok });

test("only the latest checks are kept", () => {
  const many = Array.from({ length: MAX_CHECKS + 5 }, () => at(true)).reduce<Check[]>(add, []);
  equal(many.length, MAX_CHECKS);
});

test("the last check says how it is, all of them how it was", () => {
  equal(show("u", []), "u: not asked yet");
  equal(show("u", [at(true)]), "u answers; 100.0 % of 1 checks, the last at 1970-01-01T00:00:00.000Z");
  const down = show("u", [at(true), at(false, "refused")]);
  equal(down, "u does not answer (refused); 50.0 % of 2 checks, the last at 1970-01-01T00:00:00.000Z");
});

test("a change is told, and only a change", () => {
  equal([changed([], at(true)), changed([at(true)], at(true)), changed([at(true)], at(false))], [true, false, true]);
});
