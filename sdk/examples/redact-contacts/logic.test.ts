import { equal, test } from "dispatch:test";
import { redact } from "./logic.ts";

test("contacts are taken out and counted", () => {
  const said = redact("ada@example.org or +49 30 1234567, IBAN DE89 3704 0044 0532 0130 00, ada@example.org", []);
  equal(said.text, "[mail address] or [telephone number], IBAN [bank account], [mail address]");
  equal(said.counts, { "mail address": 2, "bank account": 1, "telephone number": 1 });
});

test("what is to stay, and what only looks like it, stays", () => {
  equal(redact("ada@example.org", ["ada@example.org"]), { text: "ada@example.org", counts: {} });
  for (const text of ["version 1.2.3", "git@github", "a + 12 b", "2026-11-18"]) equal(redact(text, []).text, text);
});
