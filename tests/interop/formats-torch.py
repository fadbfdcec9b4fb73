"""PyTorch's half of the exchange: reads the files in FOLDER/ours and writes its own into FOLDER/theirs.

The tests run it with Debian's python3-torch 1.13. For another PyTorch, on any machine:

    npx tsx tests/interop/formats-write.ts FOLDER 100000                # where Node is
    python3 tests/interop/formats-torch.py FOLDER                       # where that PyTorch is
    HOOKLINE_FORMATS=FOLDER npx vitest run tests/interop/formats-torch  # where Node is

With Python's safetensors installed it reads and writes those files with it too, and compares 100,000 verdicts on
damaged files with that library's. With a GPU it saves a checkpoint from there as well. It prints one line per check.

Last done with torch 2.11.0+cu130 on a GPU and safetensors 0.8.0: all 15 checks ok; outputs within 4.8e-07; the
safetensors file of all types the same byte for byte; of 100,000 damaged files both accept 2,270 and both refuse 97,730;
then all of theirs read here.
"""
import json
import struct
import sys
from pathlib import Path

import torch

sys.dont_write_bytecode = True
from torch_models import MODELS, load_safetensors, numbers, safetensors

torch.set_num_threads(1)
torch.manual_seed(3)
folder = Path(sys.argv[1])
ours, theirs = folder / "ours", folder / "theirs"
theirs.mkdir(exist_ok=True)
NEW = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 3)


def tensor(host, whole):
    return torch.tensor(host["data"], dtype=torch.int64 if whole else torch.float32).reshape(host["shape"])


def load(name, weights_only=True):
    return torch.load(ours / name, weights_only=weights_only)


def say(what):
    print(f"ok: {what}")


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and bool(torch.equal(a, b))


# Ours, read there.
expected = json.loads((ours / "expected.json").read_text())
for name, make in MODELS.items():
    x = tensor(expected[name]["input"], name == "transformer")
    for file in (f"{name}.pt", f"{name}.safetensors"):
        model = make().eval()
        state = load(file) if file.endswith(".pt") else load_safetensors(ours / file)
        model.load_state_dict(state, strict=True)
        difference = (model(x).double().flatten() - torch.tensor(expected[name]["outputs"], dtype=torch.float64)).abs().max()
        assert difference <= 1e-5, (file, difference)
        say(f"{file} with weights_only=True and strict=True, outputs within {difference:.1e}")

VALUES = {
    "float32": torch.tensor([1.5, -0.0, float("inf")]),
    "float64": torch.tensor([0.1, 1e300], dtype=torch.float64),
    "float16": torch.tensor([1, -2, 2**-24], dtype=torch.float16),
    "bfloat16": torch.tensor([1, -2, float("inf")], dtype=torch.bfloat16),
    "int64": torch.tensor([2**62, -1]),
    "int32": torch.tensor([2**31 - 1, -5], dtype=torch.int32),
    "int16": torch.tensor([-300], dtype=torch.int16),
    "int8": torch.tensor([-3, 4], dtype=torch.int8),
    "uint8": torch.tensor([0, 255], dtype=torch.uint8),
    "bool": torch.tensor([True, False, True]),
    "complex64": torch.tensor([1 + 2j], dtype=torch.complex64),
    "empty": torch.zeros(0, 3),
    "scalar": torch.tensor(7.0),
}
for file in ("types.pt", "types.safetensors"):
    found = load(file) if file.endswith(".pt") else load_safetensors(ours / file)
    assert found.keys() == VALUES.keys()
    assert all(same(found[key], VALUES[key]) for key in VALUES), found
    say(f"{file}, {len(VALUES)} tensors")
if NEW:
    for file in ("new-types.pt", "new-types.safetensors"):
        if file.endswith(".pt") or safetensors:
            found = load(file) if file.endswith(".pt") else load_safetensors(ours / file)
            got = {key: (value.dtype, value.double().tolist() if "int" not in key else value.tolist()) for key, value in found.items()}
            want = {"uint16": 65535, "uint32": 2**32 - 1, "uint64": 2**64 - 1, "float8_e4m3fn": 1.0, "float8_e5m2": 1.0}
            assert got == {key: (getattr(torch, key), [value]) for key, value in want.items()}, got
            say(file)

plain = load("full-without-floats.pt")
model = plain.pop("model")
assert plain == {"epoch": 3, "done": False, "note": "grüße", "best": None, "steps": [1, 70000, -5]}, plain
MODELS["mlp"]().load_state_dict(model, strict=True)
say("full-without-floats.pt with weights_only=True")
full = load("full.pt", weights_only=NEW)
assert full["epoch"] == 3 and full["seed"] == 2**63 and full["note"] == "grüße" and full["best"] is None
group = full["optimizer"]["param_groups"][0]
assert group == {"lr": 0.001, "betas": [0.9, 0.999], "params": [0]}, group
assert list(full["optimizer"]["state"]) == [0] and full["optimizer"]["state"][0]["step"].item() == 3
say(f"full.pt with weights_only={NEW}")

# Theirs, to be read here.
answers = {}
for name, make in MODELS.items():
    model = make()
    x = tensor(expected[name]["input"], name == "transformer")
    if name == "cnn":
        for _ in range(3):
            model(x + torch.randn_like(x))  # buffers with numbers of their own
    model.eval()
    torch.save(model.state_dict(), theirs / f"{name}.pt")
    if safetensors:
        safetensors.torch.save_file(model.state_dict(), theirs / f"{name}.safetensors", {"format": "pt"})
    answers[name] = numbers(model(x))

model = MODELS["mlp"]()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 2])
for _ in range(3):
    model(torch.ones(2, 6)).sum().backward()
    optimizer.step()
    schedule.step()
scheduled = {k: v for k, v in schedule.state_dict().items() if not callable(v)}
checkpoint = {
    "state_dict": {f"module.{k}": v for k, v in model.state_dict().items()},
    "optimizer": optimizer.state_dict(),
    "schedule": scheduled,
    "epoch": 3,
    "seed": torch.initial_seed() + 2**63,
    "rng": torch.get_rng_state(),
    "device": torch.device("cuda", 1),
    "dtype": torch.bfloat16,
    "size": torch.Size([2, 3]),
    "raw": b"\x00\xffab",
    "names": {"a", "b"},
    "parameter": torch.nn.Parameter(torch.ones(2)),
}
torch.save(checkpoint, theirs / "full.pt")
answers["full"] = {
    "weights": {k: numbers(v) for k, v in model.state_dict().items()},
    "exp_avg": numbers(optimizer.state_dict()["state"][0]["exp_avg"]),
    "lr": optimizer.param_groups[0]["lr"],
    "rng": numbers(torch.get_rng_state()),
}

base = torch.arange(24.0).reshape(2, 3, 4)
views = {
    "transposed": base.transpose(0, 2),
    "sliced": base[:, 1:, ::2],
    "row": base[1, 2],
    "expanded": torch.tensor([5.0]).expand(2, 3),
    "flipped": base.flip(0),
    "half": base.half().permute(1, 2, 0),
    "wide": base.to(torch.int64).permute(2, 1, 0),
    "tied": base,
    "tied again": base,
    "channels_last": torch.arange(16.0).reshape(1, 2, 2, 4).contiguous(memory_format=torch.channels_last),
    "none": base[:0],
}
torch.save(views, theirs / "views.pt")
answers["views"] = {k: {"shape": list(v.shape), "data": numbers(v)} for k, v in views.items()}

torch.save(VALUES, theirs / "types.pt")
if NEW:
    torch.save(load("new-types.pt"), theirs / "new-types.pt")
if safetensors:
    safetensors.torch.save_file(VALUES, theirs / "types.safetensors")
    assert (theirs / "types.safetensors").read_bytes() == (ours / "types.safetensors").read_bytes()
    say("types.safetensors is the same, byte for byte")
if torch.cuda.is_available():
    on_gpu = {"weight": torch.arange(6.0, device="cuda").reshape(2, 3).t(), "half": torch.ones(3, device="cuda").bfloat16()}
    torch.save(on_gpu, theirs / "gpu.pt")
    placed = torch.load(ours / "mlp.pt", weights_only=True, map_location="cuda")
    assert all(v.is_cuda for v in placed.values())
    say("mlp.pt onto the GPU")
(theirs / "answers.json").write_text(json.dumps(answers))

verdicts = ours / "verdicts.bin"
if safetensors and verdicts.exists():
    raw, at, both = verdicts.read_bytes(), 0, {}
    while at < len(raw):
        length, accepted = struct.unpack_from("<IB", raw, at)
        at += 5 + length
        try:
            safetensors.deserialize(raw[at - length : at])
            reference = 1
        except safetensors.SafetensorError:
            reference = 0
        both[accepted, reference] = both.get((accepted, reference), 0) + 1
        if accepted and not reference:
            print("ONLY OURS ACCEPTS:", raw[at - length : at])
    assert (1, 0) not in both, both
    say(f"verdicts on {sum(both.values())} damaged files: both accept {both.get((1, 1), 0)}, both refuse {both.get((0, 0), 0)}, only ours refuses {both.get((0, 1), 0)}")
print(f"torch {torch.__version__}, safetensors {safetensors.__version__ if safetensors else 'not installed'}: all good")
