"""An independent reader of event files: own checksum, own walk through protocol buffers, the standard library alone.

python3 tests/interop/tensorboard_reader.py FOLDER          prints what the folder's files hold, as JSON
python3 tests/interop/tensorboard_reader.py --follow FILE N  reads a file while it grows, until step N
"""

import base64
import json
import math
import os
import struct
import sys
import time


def table_entry(n):
    for _ in range(8):
        n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
    return n


TABLE = [table_entry(n) for n in range(256)]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data, start=0):
    """Payloads of whole records, and where the next one begins. A broken checksum is an error."""
    at, found = start, []
    while at + 12 <= len(data):
        (length, check) = struct.unpack_from("<QI", data, at)
        assert check == masked(data[at : at + 8]), "broken length at %d" % at
        if at + 16 + length > len(data):
            break
        payload = data[at + 12 : at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(payload), "broken record at %d" % at
        found.append(payload)
        at += 16 + length
    return found, at


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """A message: field number to a list of raw values."""
    at, found = 0, {}
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at : at + 8], at + 8
        elif kind == 2:
            length, at = varint(data, at)
            assert at + length <= len(data), "a field goes past its message"
            value, at = data[at : at + length], at + length
        elif kind == 5:
            value, at = data[at : at + 4], at + 4
        else:
            raise AssertionError("wire type %d" % kind)
        found.setdefault(key >> 3, []).append(value)
    return found


def one(message, field, default=None):
    values = message.get(field, [default])
    assert len(values) == 1, "field %d comes %d times" % (field, len(values))
    return values[0]


def double(raw):
    return struct.unpack("<d", raw)[0] if raw is not None else 0.0


def number(value):
    return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]


def shape_of(tensor):
    return [one(fields(dim), 1, 0) for dim in fields(one(tensor, 2, b"")).get(2, [])]


def hparams_of(content):
    data = fields(content)
    assert one(data, 1, 0) == 0
    if 4 in data:
        end = fields(one(data, 4))
        return {"end": {"status": one(end, 1), "seconds": double(one(end, 2))}}
    start, values = fields(one(data, 3)), {}
    for entry in start.get(1, []):
        entry = fields(entry)
        value = fields(one(entry, 2))
        (kind,) = value
        raw = one(value, kind)
        values[one(entry, 1).decode()] = {2: double, 3: lambda b: b.decode(), 4: bool}[kind](raw)
    return {"start": {"hparams": values, "seconds": double(one(start, 5))}}


def value_of(raw):
    value = fields(raw)
    tag = one(value, 1).decode()
    if 2 in value:
        return {"tag": tag, "scalar": number(struct.unpack("<f", one(value, 2))[0])}
    if 4 in value:
        image = fields(one(value, 4))
        png = base64.b64encode(one(image, 4)).decode()
        return {"tag": tag, "image": [one(image, 2), one(image, 1), one(image, 3), png]}
    metadata = fields(one(value, 9))
    plugin = fields(one(metadata, 1))
    name, tensor = one(plugin, 1).decode(), fields(one(value, 8))
    if name == "hparams":
        assert (one(tensor, 1), shape_of(tensor)) == (1, [0])
        return {"tag": tag, "hparams": hparams_of(one(plugin, 2))}
    assert one(metadata, 4) == 2
    if name == "text":
        assert (one(tensor, 1), shape_of(tensor)) == (7, [])
        return {"tag": tag, "text": one(tensor, 8).decode()}
    assert name == "histograms" and one(tensor, 1) == 2
    rows, columns = shape_of(tensor)
    numbers = struct.unpack("<%dd" % (rows * columns), one(tensor, 4))
    return {"tag": tag, "histogram": [numbers[i : i + 3] for i in range(0, rows * columns, columns)]}


def event_of(payload):
    event = fields(payload)
    shown = {"seconds": double(one(event, 1)), "step": one(event, 2, 0)}
    if 3 in event:
        shown["version"] = one(event, 3).decode()
    if 5 in event:
        shown["values"] = [value_of(raw) for raw in fields(one(event, 5)).get(1, [])]
    if 7 in event:
        shown["session"] = one(fields(one(event, 7)), 1)
    return shown


def follow(path, last):
    """Reads whatever is new, again and again, and says how far it is. Ends with counts, or at a broken record."""
    at = looks = torn = 0
    steps, data = [], b""
    deadline = time.time() + 60
    while not steps or steps[-1] < last:
        assert time.time() < deadline, "step %d did not come" % last
        with open(path, "rb") as file:
            file.seek(len(data))
            data += file.read()
        found, at = records(data, at)
        torn += at < len(data)
        looks += bool(found)
        for event in map(event_of, found):
            if "scalar" in (event.get("values") or [{}])[0]:
                steps.append(event["step"])
        if found:
            print(steps[-1] if steps else 0, flush=True)
        else:
            time.sleep(0.001)
    print(json.dumps({"looks": looks, "torn": torn, "steps": len(steps), "ordered": steps == sorted(steps)}))


if sys.argv[1] == "--follow":
    follow(sys.argv[2], int(sys.argv[3]))
else:
    files = []
    for name in sorted(os.listdir(sys.argv[1])):
        with open(os.path.join(sys.argv[1], name), "rb") as file:
            data = file.read()
        found, at = records(data)
        files.append({"name": name, "left": len(data) - at, "events": [event_of(payload) for payload in found]})
    print(json.dumps(files))
