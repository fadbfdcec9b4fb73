"""Writes hostile .pt files for formats-pickle.test.ts: formats-payloads.py FOLDER MARKER.

Every payload that could run something would create the file MARKER. FOLDER/payloads.json says for each file which words
the reader's refusal must contain ("" for the sound files that must load). `formats-payloads.py FOLDER MARKER NAME`
unpickles payload NAME with Python's own pickle instead, which shows that the payloads do work.
"""
import io
import json
import pickle
import struct
import sys
import warnings
import zipfile
from pathlib import Path

# zipfile warns of names that come twice, which is what some payloads are about.
warnings.simplefilter("ignore")
folder, marker = Path(sys.argv[1]), sys.argv[2]
SHELL = f"touch {marker}"
CODE = f"open({marker!r}, 'w').close()"
PROTO, STOP = b"\x80\x02", b"."


def text(s):
    raw = s.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def call(module, attribute, *args):
    return name(module, attribute) + b"(" + b"".join(text(a) if isinstance(a, str) else a for a in args) + b"tR"


def whole(n):
    return b"J" + struct.pack("<i", n) if -(2**31) <= n < 2**31 else b"\x8a\x09" + n.to_bytes(9, "little", signed=True)


def pack(*numbers):
    return b"(" + b"".join(map(whole, numbers)) + b"t"


HOOKS = b"ccollections\nOrderedDict\n)R"


def storage(key="0", count=6, kind="FloatStorage", first="storage", module="torch"):
    return b"(" + text(first) + name(module, kind) + text(key) + text("cpu") + whole(count) + b"tQ"


def tensor(store=None, offset=whole(0), size=pack(2, 3), stride=pack(3, 1), hooks=HOOKS, more=b"", version="v2"):
    args = (store or storage()) + offset + size + stride + b"\x89" + hooks + more
    return name("torch._utils", f"_rebuild_tensor_{version}") + b"(" + args + b"tR"


DATA = struct.pack("<6f", *range(6))


def archive(pickled, extra=(), root="archive", compress=zipfile.ZIP_STORED, data=DATA):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compress) as z:
        z.writestr(f"{root}/data.pkl", pickled)
        z.writestr(f"{root}/data/0", data)
        z.writestr(f"{root}/version", b"3\n")
        for entry, content in extra:
            z.writestr(entry, content)
    return out.getvalue()


SOUND = PROTO + b"}" + text("weight") + tensor() + b"s" + STOP
payloads = {}


def payload(label, body, says):
    """A pickle's instructions, or a whole file."""
    whole_file = body[:2] == b"PK" or says.startswith("FILE ")
    payloads[label] = (body if whole_file else archive(PROTO + body + STOP), says.removeprefix("FILE "))


# The controls: made by the same functions, they load.
payload("sound", SOUND[2:-1], "")
payload("sound-metadata", HOOKS + b"(" + text("w") + tensor() + b"u}" + text("_metadata") + HOOKS + b"sb", "")
payload("sound-transposed", tensor(size=pack(3, 2), stride=pack(1, 3)), "")
payload("sound-types", b"](" + call("torch", "Size", pack(1, 2)) + call("torch", "device", "cuda", whole(0)) + b"e", "")

# 1. Calls.
for module, attribute, arg in [
    ("os", "system", SHELL),
    ("posix", "system", SHELL),
    ("nt", "system", SHELL),
    ("os", "popen", SHELL),
    ("subprocess", "getoutput", SHELL),
    ("subprocess", "Popen", SHELL),
    ("subprocess", "check_output", SHELL),
    ("pty", "spawn", SHELL),
    ("commands", "getoutput", SHELL),
    ("builtins", "eval", CODE),
    ("builtins", "exec", CODE),
    ("__builtin__", "eval", CODE),
    ("__builtin__", "exec", CODE),
    ("builtins", "compile", CODE),
    ("builtins", "__import__", "os"),
    ("builtins", "getattr", "os"),
    ("builtins", "open", marker),
    ("__builtin__", "file", marker),
    ("io", "open", marker),
    ("io", "FileIO", marker),
    ("importlib", "import_module", "os"),
    ("runpy", "run_path", marker),
    ("runpy", "_run_code", CODE),
    ("timeit", "timeit", CODE),
    ("cProfile", "run", CODE),
    ("profile", "run", CODE),
    ("pdb", "run", CODE),
    ("doctest", "debug_script", CODE),
    ("code", "interact", CODE),
    ("idlelib.pyshell", "ModifiedInterpreter.runcode", CODE),
    ("lib2to3.pgen2.pgen", "ParserGenerator.make_label", CODE),
    ("ctypes", "CDLL", "libc.so.6"),
    ("webbrowser", "open", "http://127.0.0.1/"),
    ("socket", "create_connection", "127.0.0.1"),
    ("urllib.request", "urlopen", "http://127.0.0.1/"),
    ("shutil", "rmtree", "/nonexistent"),
    ("pickle", "loads", "x"),
    ("_pickle", "loads", "x"),
    ("marshal", "loads", "x"),
    ("types", "FunctionType", "x"),
    ("types", "CodeType", "x"),
    ("operator", "attrgetter", "system"),
    ("operator", "methodcaller", "system"),
    ("functools", "partial", "x"),
    ("codecs", "decode", "x"),
    ("pip", "main", "install"),
    ("distutils.spawn", "spawn", SHELL),
    ("multiprocessing.util", "spawnv_passfds", SHELL),
    ("asyncio.unix_events", "_UnixSubprocessTransport._start", SHELL),
    ("numpy.testing._private.utils", "runstring", CODE),
    ("numpy", "load", marker),
    ("numpy.core.multiarray", "_reconstruct", "x"),
    ("torch", "load", marker),
    ("torch.hub", "load", "x"),
    ("torch.jit", "load", marker),
    ("torch.storage", "_load_from_bytes", "x"),
    ("torch._utils", "_rebuild_qtensor", "x"),
    ("torch._utils", "_rebuild_tensor_v2.__globals__", "x"),
    ("torch.nn.modules.linear", "Linear", "x"),
    ("collections", "defaultdict", "x"),
    ("argparse", "Namespace", "x"),
    ("hookline", "Trainer", "x"),
]:
    payload(f"call-{module}.{attribute}", call(module, attribute, arg), f"{module}.{attribute}")
payload("name-only", name("os", "system"), "os.system")
payload("name-nested-in-list", b"](" + name("os", "system") + b"e", "os.system")
payload("name-without-end", b"cos", "without an end")
payload("name-long", b"c" + b"a" * 100_000 + b"\nb\n", "without an end")
payload("call-a-text", text("os.system") + b"(" + text(SHELL) + b"tR", "calls a string")
payload("call-a-dict", b"}(" + text(SHELL) + b"tR", "calls a dict")
payload("call-without-tuple", name("torch", "device") + text("cpu") + b"R", "calls torch.device")
payload("call-a-storage-class", name("torch", "FloatStorage") + b"(tR", "calls torch.FloatStorage")
payload("call-a-dtype", name("torch", "float32") + b"(tR", "calls torch.float32")
payload("class-left-over", name("torch", "FloatStorage"), "torch.FloatStorage where a value")
payload("function-left-over", name("torch._utils", "_rebuild_tensor_v2"), "where a value")

# 2. Instructions that no file of tensors needs.
for label, body in {
    "inst": b"(" + text(SHELL) + b"ios\nsystem\n",
    "obj": b"(" + name("torch", "device") + text(SHELL) + b"o",
    "newobj": name("torch", "device") + b"(" + text(SHELL) + b"t\x81",
    "newobj-ex": name("torch", "device") + b")}\x92",
    "stack-global": text("os") + text("system") + b"\x93",
    "ext1": b"\x82\x01",
    "ext2": b"\x83\x01\x00",
    "ext4": b"\x84\x01\x00\x00\x00",
    "persid": b"Pstorage\n",
    "string": b"S'os'\n",
    "unicode": b"Vos\n",
    "int": b"I1\n",
    "long": b"L1L\n",
    "float": b"F1.0\n",
    "dup": b"]2",
    "pop": b"]]0",
    "pop-mark": b"](1",
    "dict-from-mark": b"(d",
    "list-from-mark": b"(l",
    "get": b"]g0\n",
    "put": b"]p0\n",
    "long4": b"\x8b\x01\x00\x00\x00\x01",
    "binstring": b"T\x02\x00\x00\x00os",
    "short-binstring": b"U\x02os",
    "binbytes": b"B\x01\x00\x00\x00a",
    "binunicode8": b"\x8d\x01\x00\x00\x00\x00\x00\x00\x00a",
    "bytearray8": b"\x96\xff\xff\xff\xff\xff\xff\xff\x7f",
    "next-buffer": b"\x97",
    "frame": b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f]",
    "memoize": b"]\x94",
    "frozenset": b"(\x91",
    "zero": b"\x00",
    "second-proto": b"\x80\x02]",
}.items():
    payload(f"instruction-{label}", body, "instruction 0x")
payload("protocol-4", archive(pickle.dumps({"a": 1}, 4)), "protocol 2")
payload("protocol-0", archive(pickle.dumps({"a": 1}, 0)), "protocol 2")

# 3. Containers and the stack.
payload("setitem-on-list", b"]" + text("a") + b"Ns", "sets an item of a list")
payload("setitem-on-tuple", b")" + text("a") + b"Ns", "sets an item of a tuple")
payload("setitem-on-tensor", tensor() + text("a") + b"Ns", "sets an item of a tensor")
payload("setitem-on-storage", storage() + text("a") + b"Ns", "sets an item of a storage")
payload("setitem-on-class", name("torch", "FloatStorage") + text("a") + b"Ns", "sets an item of torch.FloatStorage")
payload("setitems-on-text", text("x") + b"(" + text("a") + b"Nu", "sets an item of a string")
payload("setitems-odd", b"}(" + text("a") + b"u", "key without a value")
payload("append-to-dict", b"}Na", "appends to a dict")
payload("append-to-tensor", tensor() + b"Na", "appends to a tensor")
payload("appends-to-storage", storage() + b"(Ne", "appends to a storage")
payload("build-on-tensor", tensor() + b"}b", "state of a tensor")
payload("build-on-list", b"]}b", "state of a list")
payload("build-on-class", name("torch", "device") + b"}" + text("__setstate__") + name("torch", "Size") + b"sb", "state of torch.device")
payload("build-with-code", HOOKS + b"}" + text("__reduce__") + name("os", "system") + b"sb", "os.system")
payload("build-with-list", HOOKS + b"]b", "state of a dict")
payload("key-twice", b"}(" + (text("a") + b"N") * 2 + b"u", "twice")
payload("key-proto", b"}" + text("__proto__") + b"}s", "__proto__")
payload("key-proto-dotted", b"}" + text("a.__proto__.b") + b"}s", "__proto__")
payload("key-tuple", b"})Ns", "a tuple as a key")
payload("key-none", b"}NNs", "None as a key")
payload("key-list", b"}]Ns", "a list as a key")
payload("stack-underflow", b"s", "not there")
payload("stack-below-mark", b"](a", "not there")
payload("mark-underflow", b"]e", "did not open")
payload("mark-left-open", b"](", "exactly one value")
payload("two-values", b"NN", "exactly one value")
payload("no-value", b"", "exactly one value")
payload("after-stop", b"N." + name("os", "system"), "exactly one value")
payload("no-stop", archive(PROTO + b"N"), "ends in the middle")
payload("text-4-gib", b"X\xff\xff\xff\xff", "ends in the middle")
payload("text-not-utf8", b"X\x01\x00\x00\x00\xff", "UTF-8")
payload("long-cut", b"\x8a\xff\x01", "ends in the middle")
payload("memo-unset", b"h\x05", "memo 5")
payload("memo-unset-4-bytes", b"j\xff\xff\xff\xff", "memo 4294967295")

# 4. Growth.
payload("contains-itself", b"]q\x00h\x00a", "contains itself")
payload("dict-contains-itself", b"}q\x00" + text("a") + b"h\x00s", "contains itself")
laughs = b"](" + b"N" * 10 + b"eq\x00"
for i in range(1, 40):
    laughs += b"](" + bytes([0x68, i - 1]) * 10 + b"e" + bytes([0x71, i])
payload("laughs-lists", b"(" + laughs + b"t", "spells out more than")
laughs = b")q\x00"
for i in range(1, 40):
    laughs += bytes([0x68, i - 1]) * 2 + b"\x86" + bytes([0x71, i])
payload("laughs-tuples", b"(" + laughs + b"t", "spells out more than")
payload("laughs-text", b"](" + text("a" * 100_000) + b"q\x00" + b"h\x00" * 10_000 + b"e", "characters")
payload("laughs-keys", b"](" + text("a" * 100_000) + b"q\x00" + b"}h\x00Ns" * 10_000 + b"e", "characters")
payload("laughs-bytes", b"](" + text("a" * 10_000) + b"q\x00" + (name("_codecs", "encode") + b"(h\x00" + text("latin1") + b"tR") * 2_000 + b"e", "more room")
payload("deep-lists", b"]" * 900 + b"a" * 899, "nested deeper")
payload("deeper-lists", b"]" * 100_000 + b"a" * 99_999, "piles up")
payload("deep-tuples", b")" + b"\x85" * 900, "nested deeper")
payload("many-objects", b"]" + (b"(" + b"]" * 1000 + b"e") * 600, "too many objects")
payload("many-on-the-stack", b"(" + b"N" * 1_000_000 + b"t", "piles up more than 50000")
payload("many-marks", b"(" * 200_000, "exactly one value")

# 5. Tensors and storages.
payload("count-too-large", tensor(storage(count=7)), "not 28")
payload("count-too-small", tensor(storage(count=5)), "not 20")
payload("count-negative", tensor(storage(count=-6)), "not -24")
payload("count-huge", tensor(storage(count=2**62)), "other than a storage")
payload("count-of-wider-type", tensor(storage(kind="DoubleStorage")), "not 48")
payload("storage-missing", tensor(storage(key="1")), 'storage "1"')
payload("storage-path", tensor(storage(key="../../../etc/passwd")), "etc/passwd")
payload("storage-is-the-pickle", tensor(storage(key="../data.pkl")), "data.pkl")
payload("storage-kind", tensor(storage(first="module")), "other than a storage")
payload("storage-of-os", tensor(storage(module="os", kind="system")), "os.system")
payload("storage-of-function", tensor(storage(module="torch", kind="device")), "other than a storage")
payload("storage-short", b"(" + text("storage") + b"tQ", "other than a storage")
payload("storage-id-text", text("storage") + b"Q", "other than a storage")
payload("storage-left-over", storage(), "a storage where a value")
payload("tensor-of-none", tensor(store=b"N"), "_rebuild_tensor with None")
payload("tensor-without-args", name("torch._utils", "_rebuild_tensor_v2") + b")R", "_rebuild_tensor with nothing")
payload("offset-beyond", tensor(offset=whole(1)), "past the end")
payload("offset-negative", tensor(offset=whole(-1)), "do not fit together")
payload("offset-float", tensor(offset=b"G" + struct.pack(">d", 0.5)), "do not fit together")
payload("size-beyond", tensor(size=pack(2, 4)), "past the end")
payload("size-negative", tensor(size=pack(-2, -3)), "size or stride")
payload("size-huge", tensor(size=pack(2**31 - 1, 2**31 - 1), stride=pack(0, 0)), "too large to count")
payload("size-list", tensor(size=b"](" + whole(2) + whole(3) + b"e"), "size or stride")
payload("size-of-text", tensor(size=b"(" + text("2") + text("3") + b"t"), "size or stride")
payload("size-100-dimensions", tensor(size=pack(*[1] * 100), stride=pack(*[1] * 100)), "100 dimensions")
payload("stride-negative", tensor(stride=pack(-3, -1)), "size or stride")
payload("stride-beyond", tensor(stride=pack(4, 1)), "past the end")
payload("stride-huge", tensor(size=pack(2, 3), stride=pack(2**60, 1)), "size or stride")
payload("stride-missing", tensor(stride=pack(3)), "do not fit together")
payload("view-bomb", tensor(size=pack(30_000, 30_000), stride=pack(0, 0)), "more room")
payload("view-bomb-in-parts", b"](" + tensor(size=pack(100), stride=pack(0)) * 100 + b"e", "more room")
payload("hooks", tensor(hooks=HOOKS + text("a") + b"Ns"), "hooks or lazy bits")
payload("hooks-of-os", tensor(hooks=name("os", "system")), "os.system")
payload("lazy-bits", tensor(more=b"}" + text("conj") + b"\x88s"), "hooks or lazy bits")
payload("v3-without-type", tensor(storage(module="torch.storage", kind="UntypedStorage", count=24), version="v3"), "_rebuild_tensor")
payload("v3-type-os", tensor(storage(module="torch.storage", kind="UntypedStorage", count=24), version="v3", more=name("os", "system")), "os.system")
payload("device-of-list", name("torch", "device") + b"(]tR", "torch.device with a list")
payload("size-of-list", call("torch", "Size", b"]"), "torch.Size with a list")
payload("encode-other", call("_codecs", "encode", "a", "rot13"), "_codecs.encode")
payload("ordered-dict-of-list", call("collections", "OrderedDict", b"]"), "OrderedDict with a list")
payload("parameter-of-text", call("torch._utils", "_rebuild_parameter", "x"), "_rebuild_parameter with")

# 6. The zip around it.
good = archive(SOUND)
start = good.rindex(b"PK\x05\x06")
directory = struct.unpack("<I", good[start + 16 : start + 20])[0]


def patched(at, new, base=good):
    return base[:at] + new + base[at + len(new) :]


payload("zip-compressed", archive(SOUND, compress=zipfile.ZIP_DEFLATED), "compressed")
payload("zip-bomb", archive(SOUND, compress=zipfile.ZIP_DEFLATED, data=b"\0" * 50_000_000), "compressed")
payload("zip-bzip2", archive(SOUND, compress=zipfile.ZIP_BZIP2), "compressed")
payload("zip-name-twice", archive(SOUND, [("archive/data/0", DATA)]), "two entries")
payload("zip-pickle-twice", archive(SOUND, [("other/data.pkl", SOUND)]), "several data.pkl")
payload("zip-stray", archive(SOUND, [("other/x", b"")]), "outside of")
payload("zip-no-pickle", archive(SOUND).replace(b"data.pkl", b"data.pkx"), "no data.pkl")
payload("zip-dotdot", archive(SOUND, root=".."), "entry with the name")
payload("zip-dotdot-deep", archive(SOUND, [("archive/../../evil", b"")]), "entry with the name")
payload("zip-absolute", archive(SOUND, [("/etc/passwd", b"")]), "entry with the name")
payload("zip-backslash", archive(SOUND, [("archive/x", b"")]).replace(b"archive/x", b"archive\\x"), "entry with the name")
payload("zip-drive", archive(SOUND, [("C:/x", b"")]), "entry with the name")
payload("zip-nul", archive(SOUND, [("archive/x1", b"")]).replace(b"archive/x1", b"archive/x\0"), "entry with the name")
payload("zip-torchscript", archive(SOUND, [("archive/constants.pkl", b"")]), "TorchScript")
payload("zip-big-endian", archive(SOUND, [("archive/byteorder", b"big")]), "big-endian")
payload("zip-prefix", b"PK\x03\x04junk" + good, "contradicts itself")
payload("zip-suffix", good + b"\0", "does not end as")
payload("zip-comment", patched(start + 20, b"\x04\x00") + b"evil", "does not end as")
payload("zip-twice", good + good, "contradicts itself")
payload("zip-cut", good[:-1], "does not end as")
payload("zip-cut-directory", good[: directory + 10], "does not end as")
payload("zip-count", patched(start + 8, struct.pack("<HH", 2, 2)), "not 2 as it says")
payload("zip-count-differs", patched(start + 8, struct.pack("<HH", 2, 3)), "contradicts itself")
payload("zip-disk", patched(start + 4, b"\x01\x00"), "contradicts itself")
payload("zip-directory-elsewhere", patched(start + 16, struct.pack("<I", directory - 1)), "contradicts itself")
payload("zip-directory-beyond", patched(start + 16, struct.pack("<I", 0x7FFFFFFF)), "contradicts itself")
payload("zip-directory-broken", patched(directory, b"PK\x01\x03"), "directory is broken")
payload("zip-encrypted", patched(directory + 8, b"\x01\x00"), "encrypted")
payload("zip-method", patched(directory + 10, b"\x63\x00"), "compressed")
payload("zip-two-sizes", patched(directory + 20, struct.pack("<I", 1)), "two sizes")
payload("zip-size-larger", patched(directory + 20, struct.pack("<II", 10**9, 10**9)), "differs from what the directory says")
payload("zip-size-smaller", patched(directory + 20, struct.pack("<II", 4, 4)), "differs from what the directory says")
payload("zip-size-64-missing", patched(directory + 20, b"\xff" * 8), "64-bit size")
payload("zip-offset", patched(directory + 42, struct.pack("<I", 1)), "not where the one before ends")
second = directory + 46 + len("archive/data.pkl")
payload("zip-overlap", patched(second + 42, struct.pack("<I", 0)), "is not where|differs from what")
payload("zip-local-name", patched(30, b"archive/data.pkx"), "differs from what the directory says")
payload("zip-local-signature", patched(0, b"PK\x07\x08"), "differs from what the directory says")
payload("zip-local-method", patched(8, b"\x08\x00"), "differs from what the directory says")
payload("zip-local-size", patched(18, struct.pack("<I", 3)), "differs from what the directory says")
payload("zip-local-crc", patched(14, b"\1\2\3\4"), "differs from what the directory says")
payload("zip-bit-flip-pickle", patched(good.index(b"weight"), b"veight"), "checksum")
payload("zip-bit-flip-data", patched(good.index(DATA), b"\1"), "checksum")
hole = good[:directory] + b"hidden!!" + patched(start + 16, struct.pack("<I", directory + 8))[directory:]
payload("zip-hole", hole, "between its entries and its directory")
payload("legacy-format", PROTO + b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + PROTO, "FILE before 1.6")
payload("tar", b"data".ljust(512, b"\0"), "FILE no .pt file")
payload("empty", b"", "FILE no .pt file")
payload("text", b"hello", "FILE no .pt file")
payload("only-pk", b"PK", "does not end as")
payload("bare-pickle-of-os", b"cos\nsystem\n(S'" + SHELL.encode() + b"'\ntR.", "FILE no .pt file")

if len(sys.argv) > 3:
    body = zipfile.ZipFile(io.BytesIO(payloads[sys.argv[3]][0])).read("archive/data.pkl")
    pickle.loads(body)
else:
    for label, (content, _) in payloads.items():
        (folder / f"{label}.pt").write_bytes(content)
    (folder / "payloads.json").write_text(json.dumps({label: says for label, (_, says) in payloads.items()}))
