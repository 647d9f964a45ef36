import { equal, test, throws } from "dispatch:test";
import { calculate } from "./logic.ts";

test("precedence, signs and powers are those of mathematics", () => {
  const table: [string, number][] = [
    ["1 + 2 * 3", 7], ["(1 + 2) * 3", 9], ["2^3^2", 512], ["-2^2", -4], ["10 / 4 % 2", 0.5], ["1e3 - 1", 999],
    ["max(1, 2 + 3, 4)", 5], ["round(pi)", 3], ["--1", 1], ["2 * -3", -6],
  ];
  for (const [text, expected] of table) equal(calculate(text), expected, text);
});

test("what is no expression is said", () => {
  throws(() => calculate("1 / 0"), "division by zero");
  throws(() => calculate("1 +"), "ends too early");
  throws(() => calculate("constructor(1)"), "unknown word `constructor`");
  throws(() => calculate("(1"), "expected `)`");
  throws(() => calculate("1 2"), "did not expect `2`");
  throws(() => calculate("(".repeat(99)), "nested deeper");
});
