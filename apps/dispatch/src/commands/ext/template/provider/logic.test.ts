import { equal, test } from "dispatch:test";
import { reply } from "./logic.ts";

test("answers what the user said last", () => {
  equal(reply("You said: ", [{ role: "user", text: "hi" }, { role: "assistant", text: "yes?" }]), "You said: hi");
  equal(reply("You said: ", []), "You said: ");
});
