"""Runs layers and losses in PyTorch for nn-torch.test.ts: cases as JSON on stdin, results as JSON on stdout."""
import json
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


def tensor(host):
    dtype = torch.int64 if host["whole"] else torch.float32
    return torch.tensor(host["data"], dtype=dtype).reshape(host["shape"])


def numbers(t):
    return t.detach().to(torch.float64).flatten().tolist()


def run_layer(case):
    module = eval(case["torch"])
    module.train(case["train"])
    # strict: names and shapes of parameters and buffers must be exactly PyTorch's
    module.load_state_dict({name: tensor(host) for name, host in case["params"].items()}, strict=True)
    x = tensor(case["input"])
    if x.is_floating_point():
        x.requires_grad_(True)
    y = eval(case["call"], {"m": module, "x": x, "torch": torch})
    (y * tensor(case["weights"])).sum().backward()
    grads = {name: numbers(p.grad) for name, p in module.named_parameters()}
    if x.is_floating_point():
        grads["the input"] = numbers(x.grad)
    buffers = {name: numbers(b) for name, b in module.named_buffers()}
    return {"outputs": numbers(y), "grads": grads, "buffers": buffers}


def run_loss(case):
    x, y = tensor(case["input"]).requires_grad_(True), tensor(case["targets"])
    w = tensor(case["weight"]) if "weight" in case else None
    loss = eval(case["torch"], {"x": x, "y": y, "w": w, "F": F, "torch": torch})
    loss.backward()
    return {"outputs": numbers(loss), "grads": {"the input": numbers(x.grad)}, "buffers": {}}


cases = json.load(sys.stdin)
print(json.dumps([run_loss(case) if "targets" in case else run_layer(case) for case in cases]))
