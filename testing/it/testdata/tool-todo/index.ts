import { show } from "./logic.ts";

const item = {
  type: "object",
  properties: {
    text: { type: "string", minLength: 1, maxLength: 500 },
    status: { type: "string", enum: ["pending", "in_progress", "done"] },
  },
  required: ["text", "status"],
  additionalProperties: false,
};

export function activate(host) {
  host.defineTool({
    name: "todo",
    description: "Keeps your list of what is left to do in this conversation.",
    parameters: {
      type: "object",
      properties: { items: { type: "array", maxItems: 100, items: item } },
      additionalProperties: false,
    },
    async execute(args, ctx) {
      const lists = host.storage("todo");
      if (args.items) await lists.set(ctx.session, args.items);
      return show((await lists.get(ctx.session)) ?? []);
    },
  });
}
