"""Sends with the package of CloudEvents, signed with a plain HMAC; prints one JSON line per answer."""

import hashlib
import hmac
import json
import sys
import urllib.error
import urllib.request

from cloudevents.core.bindings.http import to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

url, secret = sys.argv[1:3]


def send(name, headers, body):
    mac = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    request = urllib.request.Request(url, body, {**headers, "X-Signature-256": "sha256=" + mac})
    try:
        with urllib.request.urlopen(request) as answer:
            value = [answer.status, json.load(answer)]
    except urllib.error.HTTPError as refused:
        value = [refused.code, json.load(refused)]
    print(json.dumps({"name": name, "value": value}))


def event(number, data):
    attributes = {"id": number, "source": "/shop", "type": "sold", "subject": "Birne 1 é"}
    return CloudEvent({**attributes, "datacontenttype": "application/json"}, data)


structured = to_structured_event(event("1", {"price": 2}))
send("structured", structured.headers, structured.body)
binary = to_binary_event(event("2", {"price": 3}))
send("binary", binary.headers, binary.body)
bodies = [to_structured_event(event(number, {"n": number})).body for number in ["1", "3", "4"]]
batch = b"[" + b",".join(bodies) + b"]"
send("batch", {"content-type": "application/cloudevents-batch+json"}, batch)
send("batch again", {"content-type": "application/cloudevents-batch+json"}, batch)
