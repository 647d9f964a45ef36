export interface Item {
  text: string;
  status: "pending" | "in_progress" | "done";
}

const MARKS = { pending: "[ ]", in_progress: "[>]", done: "[x]" };

export function show(items: readonly Item[]): string {
  if (items.length === 0) return "The list is empty.";
  const count = (status: string) => items.filter((item) => item.status === status).length;
  const lines = items.map((item) => `${MARKS[item.status]} ${item.text.trim().split(/\s+/).join(" ")}\n`);
  const sum = `${count("done")} done, ${count("in_progress")} in progress, ${count("pending")} pending.`;
  return lines.join("") + sum;
}
