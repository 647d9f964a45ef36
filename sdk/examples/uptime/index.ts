import type { Host } from "dispatch-sdk";
import { add, changed, show, type Check } from "./logic.ts";

export function activate(host: Host): void {
  const url = String(host.settings.url ?? "http://127.0.0.1/");
  const store = host.storage("checks");
  const read = async (): Promise<Check[]> => ((await store.get(url)) ?? []) as unknown as Check[];

  const check = async (): Promise<void> => {
    const answered = await host.fetch(url).then(
      (answer) => ({ said: `status ${answer.status}`, ok: answer.ok }),
      (error: unknown) => ({ said: String(error), ok: false }),
    );
    const now: Check = { at: Date.now(), ...answered };
    const before = await read();
    await store.set(url, add(before, now).map((kept) => ({ ...kept })));
    if (changed(before, now)) host.logger.warn(`${url}: ${now.said}`);
  };

  host.scheduler.register({ name: "uptime", everyMs: Number(host.settings.everySeconds ?? 60) * 1_000, run: check });
  host.defineCommand({
    name: "uptime",
    description: "Says whether the address answers; `now` asks it once more first.",
    async run(args) {
      if (args[0] === "now") await check();
      return show(url, await read());
    },
  });
}
