// Sends with the package of CloudEvents, signed with a plain HMAC; prints one JSON line per answer.
import { createHmac } from "node:crypto";
import { createRequire } from "node:module";
const [installed, url, secret] = process.argv.slice(2);
const { CloudEvent, HTTP } = createRequire(`${installed}/`)("cloudevents");

async function send(name, headers, body) {
  const mac = createHmac("sha256", secret).update(body).digest("base64");
  const answer = await fetch(url, { method: "POST", headers: { ...headers, "X-Signature": mac }, body });
  console.log(JSON.stringify({ name, value: [answer.status, await answer.json()] }));
}

function event(id, data) {
  return new CloudEvent({ id, source: "/shop", type: "sold", subject: "Birne 1 e", data });
}

const structured = HTTP.structured(event("1", { price: 2 }));
await send("structured", structured.headers, structured.body);
const binary = HTTP.binary(event("2", { price: 3 }));
await send("binary", binary.headers, binary.body);
const bodies = ["1", "3", "4"].map((id) => HTTP.structured(event(id, { n: id })).body);
const batch = `[${bodies.join(",")}]`;
await send("batch", { "content-type": "application/cloudevents-batch+json" }, batch);
await send("batch again", { "content-type": "application/cloudevents-batch+json" }, batch);
