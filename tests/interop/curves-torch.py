"""Trains models in PyTorch for curves-torch.test.ts: cases as JSON in the first file, losses and weights into the second."""
import json
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.dont_write_bytecode = True
from torch_models import Transformer, numbers

torch.set_num_threads(1)

LOSSES = {
    "mse": F.mse_loss,
    "crossEntropy": lambda outputs, y: F.cross_entropy(outputs.flatten(0, -2), y.flatten()),
}


def tensor(host):
    dtype = torch.int64 if host["whole"] else torch.float32
    return torch.tensor(host["data"], dtype=dtype).reshape(host["shape"])


def cosine(step, warmup, total, least):
    """A straight rise whose first step is already 1/(warmup + 1), then half a cosine."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = (step - warmup) / (total - warmup)
    return least + (1 - least) * (1 + math.cos(math.pi * progress)) / 2


def run(case):
    m = eval(case["torch"])
    # strict: names and shapes of parameters and buffers must be exactly PyTorch's
    m.load_state_dict({name: tensor(host) for name, host in case["initial"].items()}, strict=True)
    m.train()

    def pick(part, yes=True):
        return [p for name, p in m.named_parameters() if (part in name) == yes]

    optimizers = [eval(code, {**vars(torch.optim), "m": m, "pick": pick}) for code in case["optimizers"]]
    rates = [[group["lr"] for group in o.param_groups] for o in optimizers]
    losses, used = [], []
    for number, step in enumerate(case["steps"]):
        factor = cosine(number, **case["cosine"]) if case["cosine"] else 1
        for o, base in zip(optimizers, rates):
            for group, rate in zip(o.param_groups, base):
                group["lr"] = rate * factor
        m.zero_grad()
        samples = sum(batch["x"]["shape"][0] for batch in step)
        total = 0
        for batch in step:
            loss = LOSSES[case["loss"]](m(tensor(batch["x"])), tensor(batch["y"])) * (batch["x"]["shape"][0] / samples)
            loss.backward()
            total += loss.item()
        if case["clipNorm"]:
            nn.utils.clip_grad_norm_(m.parameters(), case["clipNorm"])
        for o in optimizers:
            o.step()
        losses.append(total)
        used.append(optimizers[0].param_groups[0]["lr"])
    return {"losses": losses, "rates": used, "final": {name: numbers(t) for name, t in m.state_dict().items()}}


with open(sys.argv[1]) as cases:
    results = [run(case) for case in json.load(cases)]
with open(sys.argv[2], "w") as out:
    json.dump(results, out)
