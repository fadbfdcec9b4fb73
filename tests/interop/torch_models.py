"""The models of these tests as PyTorch has them, and its side of reading safetensors."""
import json
import struct
from pathlib import Path

import torch
import torch.nn as nn

try:
    import safetensors
    import safetensors.torch
except ImportError:
    safetensors = None


class Block(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(features)
        self.attn = nn.MultiheadAttention(features, heads, batch_first=True)
        self.ln2 = nn.LayerNorm(features)
        self.mlp = nn.Sequential(nn.Linear(features, 4 * features), nn.GELU(), nn.Linear(4 * features, features))

    def forward(self, x):
        hidden = torch.triu(torch.ones(x.shape[1], x.shape[1]), 1).bool()
        h = self.ln1(x)
        x = x + self.attn(h, h, h, need_weights=False, attn_mask=hidden)[0]
        return x + self.mlp(self.ln2(x))


class Transformer(nn.Module):
    def __init__(self, vocabulary, time, features, heads, layers):
        super().__init__()
        self.tok = nn.Embedding(vocabulary, features)
        self.pos = nn.Embedding(time, features)
        self.blocks = nn.Sequential(*[Block(features, heads) for _ in range(layers)])
        self.ln = nn.LayerNorm(features)
        self.head = nn.Linear(features, vocabulary, bias=False)

    def forward(self, x):
        return self.head(self.ln(self.blocks(self.tok(x) + self.pos(torch.arange(x.shape[1])))))


# Those of formats-models.ts.
MODELS = {
    "mlp": lambda: nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 2)),
    "cnn": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 5),
    ),
    "transformer": lambda: Transformer(17, 8, 16, 2, 2),
}


def numbers(t):
    return t.detach().cpu().to(torch.float64).flatten().tolist()


def load_safetensors(path):
    """With the library where it is there, else by the words of the format's description."""
    if safetensors:
        return safetensors.torch.load_file(path)
    raw = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    types = {"F32": "float32", "F64": "float64", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32"}
    types |= {"I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool", "C64": "complex64"}
    found = {}
    for key, info in header.items():
        begin, end = info["data_offsets"]
        dtype = getattr(torch, types[info["dtype"]])
        data = bytearray(raw[8 + length + begin : 8 + length + end])
        flat = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
        found[key] = flat.reshape(info["shape"])
    return found
