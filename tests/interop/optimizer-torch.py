"""PyTorch's half of the exchange of full checkpoints, with the optimizers' state.

`write` trains in PyTorch and saves into FOLDER/theirs; optimizer-write.ts reads that and writes FOLDER/ours; `check`
loads ours and trains on, which must give what training on from PyTorch's own file gives. The tests run it with Debian's
python3-torch 1.13. For another PyTorch (from 2.0 on, everything is loaded with weights_only=True):

    python3 tests/interop/optimizer-torch.py FOLDER write    # where that PyTorch is
    npx tsx tests/interop/optimizer-write.ts FOLDER          # where Node is
    python3 tests/interop/optimizer-torch.py FOLDER check    # where that PyTorch is

It prints one line per check.

Last done with torch 2.11.0+cu130: all 10 checks ok, bit for bit on the CPU; with the model on a GPU too.
"""
import sys
from pathlib import Path

import torch
import torch.nn as nn

torch.set_num_threads(1)
folder, task = Path(sys.argv[1]), sys.argv[2]
ours, theirs = folder / "ours", folder / "theirs"
# Before 2.0 weights_only refuses floats, and so every optimizer's state.
SAFE = int(torch.__version__.split(".")[0]) >= 2


def split(model):
    """Weights decay, biases do not."""
    weights = [p for name, p in model.named_parameters() if name.endswith("weight")]
    biases = [p for name, p in model.named_parameters() if name.endswith("bias")]
    return [{"params": weights, "weight_decay": 0.1}, {"params": biases, "lr": 0.002, "weight_decay": 0.0}]


OPTIMIZERS = {
    "adamw": lambda m: torch.optim.AdamW(m.parameters(), lr=0.01),
    "adamw-groups": lambda m: torch.optim.AdamW(split(m), lr=0.01, betas=(0.8, 0.95), eps=1e-6),
    "adam": lambda m: torch.optim.Adam(m.parameters(), lr=0.01, betas=(0.85, 0.99), weight_decay=0.05),
    "sgd": lambda m: torch.optim.SGD(m.parameters(), lr=0.1, weight_decay=0.01),
    "sgd-momentum": lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.01),
    "sgd-nesterov": lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True),
    "rmsprop": lambda m: torch.optim.RMSprop(m.parameters(), lr=0.01),
    "rmsprop-all": lambda m: torch.optim.RMSprop(m.parameters(), lr=0.01, alpha=0.9, momentum=0.8, centered=True),
}


def mlp():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 2))


def train(model, optimizer, steps):
    for step in steps:
        torch.manual_seed(100 + step)
        x, y = torch.randn(8, 6), torch.randn(8, 2)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def resumed(file, make):
    checkpoint = torch.load(file, weights_only=SAFE)
    model = mlp()
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    model.load_state_dict(checkpoint["model"], strict=True)
    optimizer = make(model)
    optimizer.load_state_dict(checkpoint["optimizer"])
    train(model, optimizer, range(3, 6))
    return model


def bits(values, most):
    words = torch.randint(-(2**31), 2**31, (200_000,), dtype=torch.int64).to(torch.int32)
    floats = words.view(torch.float32)
    floats = torch.cat([values, floats[floats.isfinite() & (floats.abs() < most)]])
    small = torch.randn(50_000) * 10 ** (torch.rand(50_000) * 12 - 9)
    return torch.cat([floats, small.clamp(-most, most)])


def same(a, b):
    if torch.is_tensor(a) or torch.is_tensor(b):
        return torch.is_tensor(a) and torch.is_tensor(b) and a.dtype == b.dtype and torch.equal(a, b)
    return type(a) is type(b) and a == b


if task == "write":
    theirs.mkdir(parents=True, exist_ok=True)
    for name, make in OPTIMIZERS.items():
        model = mlp()
        optimizer = make(model)
        train(model, optimizer, range(3))
        full = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1, "step": 3}
        torch.save(full, theirs / f"{name}.pt")
    # Ties, subnormals, the largest, infinities, and random bits.
    edges = torch.tensor([0.0, -0.0, 1 + 2**-11, 1 + 3 * 2**-11, 2**-25, 3 * 2**-25, 2**-14, 65519.0, 1 + 2**-9])
    edges = torch.cat([edges, torch.tensor([float("inf"), float("-inf")])])
    halves = {"F16": bits(edges, 65519.0), "BF16": bits(edges, 3e38), "whole": torch.tensor([2**40, -1])}
    torch.save(halves, theirs / "halves.pt")
else:
    for name, make in OPTIMIZERS.items():
        own, written = (torch.load(f / f"{name}.pt", weights_only=SAFE) for f in (theirs, ours))
        assert written["epoch"] == 1 and written["step"] == 3
        assert own["model"].keys() == written["model"].keys()
        assert all(same(own["model"][key], written["model"][key]) for key in own["model"])
        state, state2 = own["optimizer"]["state"], written["optimizer"]["state"]
        for index, entry in state.items():
            for key, value in entry.items():
                # 1.13 counts RMSprop's steps in an int, later versions in a tensor; it had None for no buffer.
                if value is not None and not (key == "step" and isinstance(value, int)):
                    assert same(value, state2[index][key]), (name, index, key)
        groups = zip(own["optimizer"]["param_groups"], written["optimizer"]["param_groups"], strict=True)
        for group, group2 in groups:
            for key, value in group.items():
                assert group2[key] == value or (key == "fused" and not value), (name, key, value, group2[key])
        a, b = (resumed(f / f"{name}.pt", make) for f in (theirs, ours))
        assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters())), name
        straight = mlp()
        train(straight, make(straight), range(6))
        assert all(torch.equal(p, q) for p, q in zip(straight.parameters(), b.parameters())), name
        print(f"ok: {name} goes on bit for bit, weights_only={SAFE}")
    values = torch.load(theirs / "halves.pt", weights_only=True)
    for dtype, key in ((torch.float16, "F16"), (torch.bfloat16, "BF16")):
        found = torch.load(ours / f"{key}.pt", weights_only=True)
        assert same(found[key].view(torch.int16), values[key].to(dtype).view(torch.int16)), key
        assert same(found["whole"], values["whole"])
        print(f"ok: {len(values[key])} numbers as {key}")
    print(f"torch {torch.__version__}: all good")
