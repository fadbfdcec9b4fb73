# PyTorch's side of gpu-curves.ts: the model of gpu-models.ts from its weights, on its batches; the losses as JSON.
import json
import math
import sys
from contextlib import nullcontext

import numpy as np
import torch
import torch.nn.functional as F

folder = sys.argv[1]
setup = json.load(open(f"{folder}/setup.json"))
L, D, H, V, B, T = (setup[name] for name in ("layers", "width", "heads", "vocabulary", "sequences", "tokens"))
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.backends.cuda.matmul.allow_tf32 = False


def ids(name):
    return torch.from_numpy(np.fromfile(f"{folder}/{name}", dtype=np.int32).reshape(-1, T)).long().to(device)


x, y = ids("x"), ids("y")
p = {
    name: torch.from_numpy(np.fromfile(f"{folder}/{name}", dtype=np.float32).reshape(shape)).to(device).requires_grad_()
    for name, shape in setup["shapes"].items()
}
optimizer = torch.optim.AdamW(list(p.values()), lr=setup["lr"], weight_decay=0.01)
visible = torch.tril(torch.ones(T, T, dtype=torch.bool, device=device))


def forward(tok):
    h = p["embedding"][tok] + p["positions"]
    for i in range(L):
        n = F.layer_norm(h, (D,), p[f"{i}.norm1"])
        q, k, v = [part.view(B, T, H, D // H).transpose(1, 2) for part in (n @ p[f"{i}.qkv"]).split(D, 2)]
        scores = (q @ k.transpose(2, 3)) / math.sqrt(D // H)
        weights = scores.masked_fill(~visible, -math.inf).softmax(-1)
        h = h + (weights.to(v.dtype) @ v).transpose(1, 2).reshape(B, T, D) @ p[f"{i}.project"]
        up = F.layer_norm(h, (D,), p[f"{i}.norm2"]) @ p[f"{i}.up"]
        h = h + F.gelu(up, approximate="tanh") @ p[f"{i}.down"]
    return F.layer_norm(h, (D,), p["norm"]) @ p["embedding"].T


mixed = setup["precision"] == "autocast"
losses = []
for step in range(setup["steps"]):
    rows = slice(step * B % len(x), step * B % len(x) + B)
    with torch.autocast(device, dtype=torch.bfloat16) if mixed else nullcontext():
        logits = forward(x[rows])
    loss = F.cross_entropy(logits.float().view(-1, V), y[rows].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
print(json.dumps([float(loss) for loss in losses]))
