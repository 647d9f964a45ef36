import { equal, test } from "dispatch:test";
import { hide } from "./logic.ts";

test("hides every occurrence of every word", () => {
  equal(hide("blue and green and blue", ["blue", "red"]), "[hidden] and green and [hidden]");
});

test("an empty word hides nothing", () => {
  equal(hide("blue", [""]), "blue");
});
