import { equal, test } from "dispatch:test";
import { find, isLookedInto, isRead, show } from "./logic.ts";

test("open points are found with their lines", () => {
  const text = "let a = 1; // TODO: name it\nconst TODOS = 2;\n/* FIXME(ada) too slow */\n";
  const found = find("a.ts", text, ["TODO", "FIXME"]);
  equal(show(found), "a.ts:1: TODO: name it\na.ts:3: FIXME(ada) too slow");
  equal(show(find("a.ts", "nothing", ["TODO"])), "nothing is left to do");
});

test("built and hidden things are left alone", () => {
  equal([".git", "target", "src"].filter(isLookedInto), ["src"]);
  equal(["a.rs", "a.png", "notes.md"].filter(isRead), ["a.rs", "notes.md"]);
});
