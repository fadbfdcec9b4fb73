# PyTorch's side of checkpoint-files.ts: for each line it reads, one call, and its milliseconds as JSON.
import json
import os
import sys
import time

import torch

torch.manual_seed(0)
tensors = {f"{i}.weight": torch.randn(2048, 2048) for i in range(8)}
size = sum(t.numel() * t.element_size() for t in tensors.values())
try:
    import safetensors.torch
except ImportError:
    safetensors = None


def save(path):
    torch.save(tensors, path)


def save_durably(path):
    with open(path, "wb") as file:
        torch.save(tensors, file)
        file.flush()
        os.fsync(file.fileno())


def load(path):
    torch.load(path)


calls = {"save": save, "save_durably": save_durably, "load": load}
if safetensors:
    calls["safetensors_save"] = lambda path: safetensors.torch.save_file(tensors, path)
    calls["safetensors_load"] = lambda path: safetensors.torch.load_file(path)

print(json.dumps({"version": torch.__version__, "bytes": size, "calls": list(calls)}), flush=True)
for line in sys.stdin:
    call, path = json.loads(line)
    start = time.perf_counter()
    calls[call](path)
    print(json.dumps((time.perf_counter() - start) * 1000), flush=True)
