# Reads a .wandb file with nothing but Python's own library: frames, checksums and protobuf fields, each checked.
# python3 wandb-read.py FILE: one line of JSON per record, {"num", "kind", "value"}.
import json
import struct
import sys
import zlib

BLOCK = 32768
KINDS = {2: "history", 3: "summary", 6: "files", 7: "stats", 17: "run", 18: "exit", 21: "header"}


def records(data):
    ident, magic, version = struct.unpack("<4sHB", data[:7])
    assert (ident, magic, version) == (b":W&B", 0xBEE1, 0), "not a .wandb file"
    at, parts = 7, None
    while at < len(data):
        left = BLOCK - at % BLOCK
        if left < 7:
            assert data[at : at + left] == bytes(left), "padding that is not zero"
            at += left
            continue
        checksum, length, kind = struct.unpack("<IHB", data[at : at + 7])
        body = data[at + 7 : at + 7 + length]
        assert len(body) == length and 7 + length <= left, "a frame that leaves its block"
        assert zlib.crc32(bytes([kind]) + body) == checksum, "a wrong checksum"
        at += 7 + length
        if kind == 1:
            assert parts is None
            yield body
        elif kind == 2:
            assert parts is None
            parts = [body]
        else:
            assert parts is not None and kind in (3, 4)
            parts.append(body)
            if kind == 4:
                yield b"".join(parts)
                parts = None
    assert parts is None, "ends in the middle of a record"


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            assert tag & 7 == 2, "a wire type that none of these messages has"
            length, at = varint(data, at)
            value = data[at : at + length]
            assert len(value) == length
            at += length
        yield tag >> 3, value


def items(data, field):
    """Name and value of each item: extended JSON, as Python's json reads it."""
    found = {}
    for number, value in fields(data):
        if number == field:
            item = dict(fields(value))
            found[item[1].decode()] = json.loads(item[16])
    return found


def time_of(data):
    parts = dict(fields(data))
    return parts.get(1, 0) + parts.get(2, 0) / 1e9


def value_of(kind, data):
    if kind == "header":
        return {n: v.decode() for n, v in fields(dict(fields(data))[1])}
    known = dict(fields(data))
    if kind == "run":
        return {
            "id": known[1].decode(),
            "project": known[3].decode(),
            "config": items(known[4], 1),
            "name": known[8].decode(),
            "tags": [v.decode() for n, v in fields(data) if n == 10],
            "start": time_of(known[17]),
        }
    if kind == "files":
        found = [dict(fields(v)) for n, v in fields(data) if n == 1]
        return [{"path": item[1].decode(), "type": item[3]} for item in found]
    if kind == "history":
        return {"step": dict(fields(known[2])).get(1, 0), "items": items(data, 1)}
    if kind == "stats":
        return {"time": time_of(known[2]), "items": items(data, 3)}
    if kind == "summary":
        return items(data, 1)
    return {"code": known.get(1, 0), "runtime": known.get(2, 0)}


with open(sys.argv[1], "rb") as file:
    content = file.read()
for record in records(content):
    parts = dict(fields(record))
    (number,) = [n for n in parts if n != 1]
    kind = KINDS[number]
    # As JSON that everyone can read: NaN and the infinities by name.
    text = json.dumps({"num": parts[1], "kind": kind, "value": value_of(kind, parts[number])})
    print(text.replace(": NaN", ': "NaN"').replace(": Infinity", ': "Infinity"').replace(": -Infinity", ': "-Infinity"'))
