const ctxOf = (given) =>
  Object.freeze({
    now: given.now,
    isOwner: given.isOwner,
    person: (id) => host.ask("person", id ?? null),
    thread: (limit) => host.ask("thread", limit ?? null),
    invocations: (limit) => host.ask("invocations", limit ?? null),
  });

export const hook = routing.hook ?? {};

export default async (event, given) => {
  if (typeof routing.default !== "function") throw new TypeError("the hook has no default export that is a function");
  return (await routing.default(event, ctxOf(given))) ?? null;
};
