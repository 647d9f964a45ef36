import { equal, test } from "dispatch:test";
import { show } from "./logic.ts";

test("a list is shown line by line", () => {
  const items = [{ text: "a\nb", status: "done" as const }, { text: "c", status: "in_progress" as const }];
  equal(show(items), "[x] a b\n[>] c\n1 done, 1 in progress, 0 pending.");
  equal(show([]), "The list is empty.");
});
