// Arithmetic by precedence: + - * / % ^, brackets, and a few functions. No code is run, so nothing but numbers comes out.

const FUNCTIONS: Record<string, (...numbers: number[]) => number> = {
  abs: Math.abs, ceil: Math.ceil, floor: Math.floor, ln: Math.log, max: Math.max, min: Math.min, round: Math.round, sqrt: Math.sqrt,
};
const CONSTANTS: Record<string, number> = { e: Math.E, pi: Math.PI };
const MAX_LENGTH = 1_000;
const MAX_DEPTH = 50;

export function calculate(text: string): number {
  if (text.length > MAX_LENGTH) throw new Error(`the expression has more than ${MAX_LENGTH} characters`);
  const tokens = text.match(/\d+(?:\.\d+)?(?:e[+-]?\d+)?|[a-z]+|\*\*|\S/gi) ?? [];
  let at = 0;
  const take = (...wanted: string[]): string | undefined => (wanted.includes(tokens[at] ?? "") ? tokens[at++] : undefined);
  const need = (wanted: string): void => {
    if (take(wanted) === undefined) throw new Error(`expected \`${wanted}\` before \`${tokens[at] ?? "the end"}\``);
  };

  const sum = (depth: number): number => {
    let value = product(depth);
    for (let sign; (sign = take("+", "-")); ) value = sign === "+" ? value + product(depth) : value - product(depth);
    return value;
  };
  const product = (depth: number): number => {
    let value = signed(depth);
    for (let sign; (sign = take("*", "/", "%")); ) {
      const by = signed(depth);
      if (sign !== "*" && by === 0) throw new Error("division by zero");
      value = sign === "*" ? value * by : sign === "/" ? value / by : value % by;
    }
    return value;
  };
  const signed = (depth: number): number => (take("-") ? -signed(depth + 1) : take("+") ? signed(depth + 1) : power(depth));
  const power = (depth: number): number => {
    const base = atom(depth);
    return take("^", "**") ? base ** signed(depth + 1) : base;
  };
  const atom = (depth: number): number => {
    if (depth > MAX_DEPTH) throw new Error(`brackets are nested deeper than ${MAX_DEPTH}`);
    const token = tokens[at++];
    if (token === undefined) throw new Error("the expression ends too early");
    if (/^\d/.test(token)) return Number(token);
    if (token === "(") {
      const value = sum(depth + 1);
      need(")");
      return value;
    }
    const name = token.toLowerCase();
    if (Object.hasOwn(CONSTANTS, name)) return CONSTANTS[name] ?? 0;
    const called = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
    if (!called) throw new Error(`unknown word \`${token}\`; there are ${Object.keys({ ...FUNCTIONS, ...CONSTANTS }).join(", ")}`);
    need("(");
    const given = [sum(depth + 1)];
    while (take(",")) given.push(sum(depth + 1));
    need(")");
    return called(...given);
  };

  const value = sum(0);
  if (at < tokens.length) throw new Error(`did not expect \`${tokens[at]}\``);
  if (!Number.isFinite(value)) throw new Error("the result is not a number");
  return value;
}
