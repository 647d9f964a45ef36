// Sends with the package of Standard Webhooks; prints one JSON line per answer.
import { createRequire } from "node:module";
const [installed, url, secret, other] = process.argv.slice(2);
const { Webhook } = createRequire(`${installed}/`)("standardwebhooks");

async function send(name, id, body, { key = secret, at = new Date(), drop, change } = {}) {
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(key).sign(id, at, body),
  };
  delete headers[drop];
  const answer = await fetch(url, { method: "POST", headers, body: change ?? body });
  console.log(JSON.stringify({ name, value: [answer.status, await answer.json()] }));
}

const hour = 3_600_000;
const body = JSON.stringify({ type: "invoice.paid", data: { id: "inv_1", name: "Zoë" } });
await send("first", "msg_1", body);
await send("again", "msg_1", body);
await send("rotated", "msg_2", body, { key: other });
await send("stranger", "msg_3", body, { key: "whsec_c3RyYW5nZXJzdHJhbmdlcg==" });
await send("changed", "msg_4", body, { change: body.replace("inv_1", "inv_2") });
await send("old", "msg_5", body, { at: new Date(Date.now() - hour) });
await send("future", "msg_6", body, { at: new Date(Date.now() + hour) });
for (const header of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
  await send(`without ${header}`, "msg_7", body, { drop: header });
}
