# Asks a server with OpenAI's own client, and prints what it understood as JSON.
import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
ask = {"model": "small", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8, "temperature": 0}


def error(**change):
    try:
        client.chat.completions.create(**{**ask, **change})
    except openai.APIStatusError as problem:
        return problem


chat = client.chat.completions.create(**ask)
streamed, usage = "", None
for piece in client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}):
    if piece.choices:
        streamed += piece.choices[0].delta.content or ""
    usage = piece.usage or usage
text = client.completions.create(model="small", prompt="Hello", max_tokens=8, temperature=0)
two = error(n=2)
print(json.dumps({
    "models": [model.id for model in client.models.list()],
    "chat": chat.choices[0].message.content,
    "streamed": streamed,
    "usage": usage.completion_tokens,
    "text": text.choices[0].text,
    "refused": [type(two).__name__, two.param, two.status_code],
    "unknown": type(error(model="other")).__name__,
}))
