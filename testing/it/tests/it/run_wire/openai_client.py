"""Talks to `dispatch serve` with OpenAI's own client; prints one JSON line per answer."""

import json
import sys

import openai

base_url, token = sys.argv[1:3]
client = openai.OpenAI(base_url=base_url, api_key=token, max_retries=0)


def tell(name, value):
    print(json.dumps({"name": name, "value": value}))


tell("models", [model.id for model in client.models.list()])

messages = [{"role": "user", "content": "hello"}]
whole = client.chat.completions.create(model="dispatch", messages=messages)
tell("whole", [whole.object, whole.choices[0].message.role, whole.choices[0].message.content,
               whole.choices[0].finish_reason, whole.usage.total_tokens >= 0])

pieces = list(client.chat.completions.create(
    model="dispatch", messages=messages, stream=True, stream_options={"include_usage": True},
    extra_headers={"X-Dispatch-Session": "python"}))
text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
reasons = [piece.choices[0].finish_reason for piece in pieces if piece.choices and piece.choices[0].finish_reason]
tell("stream", [text, pieces[0].choices[0].delta.role, reasons, pieces[-1].usage is not None,
                sum(1 for piece in pieces if piece.choices and piece.choices[0].delta.content) > 1,
                len({piece.id for piece in pieces})])

again = client.chat.completions.create(
    model="dispatch", messages=[{"role": "user", "content": "what did I say"}],
    extra_headers={"X-Dispatch-Session": "python"})
tell("again", again.choices[0].message.content)

with client.chat.completions.stream(model="dispatch", messages=messages) as stream:
    for _ in stream:
        pass
    tell("helper", stream.get_final_completion().choices[0].message.content)

for name, key, path in [("token", "wrong", "/v1"), ("path", token, "/v1/nothing")]:
    other = openai.OpenAI(base_url=base_url.removesuffix("/v1") + path, api_key=key, max_retries=0)
    try:
        other.chat.completions.create(model="dispatch", messages=messages)
    except openai.APIStatusError as error:
        tell(name, [type(error).__name__, bool(error.message)])
try:
    client.chat.completions.create(model="dispatch", messages=[])
except openai.APIStatusError as error:
    tell("empty", [type(error).__name__, bool(error.message)])

honoured = client.chat.completions.create(
    model="scripted", messages=messages, max_tokens=7, temperature=0, response_format={"type": "json_object"}, store=False)
tell("honoured", honoured.choices[0].message.content)
function = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
refused = []
for more in [{"tools": [function]}, {"n": 2}, {"logprobs": True}, {"model": "gpt-9"}, {"extra_body": {"max_token": 7}}]:
    try:
        client.chat.completions.create(**{"model": "dispatch", "messages": messages, **more})
    except openai.BadRequestError as error:
        refused.append([error.type, error.param, error.code])
tell("refused", refused)
