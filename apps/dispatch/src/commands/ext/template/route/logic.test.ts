import { equal, test } from "dispatch:test";
import { greet } from "./logic.ts";

test("greets by name", () => {
  equal(greet("Hello", "Ada"), "Hello, Ada!");
});
