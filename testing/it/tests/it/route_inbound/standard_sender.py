"""Sends with the package of Standard Webhooks; prints one JSON line per answer."""

import datetime
import json
import sys
import urllib.error
import urllib.request

from standardwebhooks.webhooks import Webhook

url, secret, other = sys.argv[1:4]


def send(name, msg_id, body, key=secret, at=None, drop=None, change=None):
    now = at or datetime.datetime.now(tz=datetime.timezone.utc)
    headers = {
        "content-type": "application/json",
        "webhook-id": msg_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(key).sign(msg_id, now, body),
    }
    headers.pop(drop, None)
    request = urllib.request.Request(url, (change or body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            value = [answer.status, json.load(answer)]
    except urllib.error.HTTPError as refused:
        value = [refused.code, json.load(refused)]
    print(json.dumps({"name": name, "value": value}))


hour = datetime.timedelta(hours=1)
now = datetime.datetime.now(tz=datetime.timezone.utc)
body = json.dumps({"type": "invoice.paid", "data": {"id": "inv_1", "name": "Zoë"}})
send("first", "msg_1", body)
send("again", "msg_1", body)
send("rotated", "msg_2", body, key=other)
send("stranger", "msg_3", body, key="whsec_c3RyYW5nZXJzdHJhbmdlcg==")
send("changed", "msg_4", body, change=body.replace("inv_1", "inv_2"))
send("old", "msg_5", body, at=now - hour)
send("future", "msg_6", body, at=now + hour)
for header in ["webhook-id", "webhook-timestamp", "webhook-signature"]:
    send("without " + header, "msg_7", body, drop=header)
