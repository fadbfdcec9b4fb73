# JAX's and PyTorch's side of gpu.ts, with the models of gpu-models.ts: gpu-peers.py <jax|torch|compile> <gpt|mlp|gpt2>.
# For each line that asks for some steps, the milliseconds of one and the last loss, as JSON.
import json
import math
import os
import sys
import time

import numpy as np

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
PEER, MODEL = sys.argv[1:]
# Layers, width, heads, vocabulary, sequences, tokens.
L, D, H, V, B, T = dict(gpt=(4, 768, 12, 32768, 16, 512), gpt2=(12, 768, 12, 50304, 12, 1024)).get(MODEL, [0] * 6)
SIZES = [784, 256, 256, 10]


def ids(below, *shape):
    # As in gpu-models.ts: a JavaScript number keeps 53 bits of the product.
    n = int(np.prod(shape))
    return np.array([((int(float(i) * 2654435761.0) & 0xFFFFFFFF) >> 7) % below for i in range(n)], dtype=np.int32).reshape(shape)


def waves(*shape):
    return np.sin(np.arange(np.prod(shape)) * 0.7).astype(np.float32).reshape(shape)


def jax_gpt():
    import jax
    import jax.numpy as jnp

    key = jax.random.key(0)
    tok = jnp.asarray(ids(V, B, T))
    p = dict(embedding=0.02 * jax.random.normal(key, (V, D)), positions=0.02 * jax.random.normal(key, (T, D)), norm=jnp.ones(D))
    for i in range(L):
        p[f"{i}.norm1"] = jnp.ones(D)
        p[f"{i}.norm2"] = jnp.ones(D)
        for name, shape in (("qkv", (D, 3 * D)), ("project", (D, D)), ("up", (D, 4 * D)), ("down", (4 * D, D))):
            p[f"{i}.{name}"] = 0.02 * jax.random.normal(key, shape)

    def norm(x, g):
        y = x.astype(jnp.float32)
        c = y - y.mean(-1, keepdims=True)
        return (c / jnp.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * g).astype(x.dtype)

    def loss(p, tok):
        p = jax.tree.map(lambda a: a.astype(jnp.bfloat16), p)
        x = p["embedding"][tok] + p["positions"]
        for i in range(L):
            q, k, v = [t.reshape(B, T, H, D // H) for t in jnp.split(norm(x, p[f"{i}.norm1"]) @ p[f"{i}.qkv"], 3, -1)]
            a = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
            x = x + a.reshape(B, T, D) @ p[f"{i}.project"]
            x = x + jax.nn.gelu(norm(x, p[f"{i}.norm2"]) @ p[f"{i}.up"], approximate=True) @ p[f"{i}.down"]
        logits = norm(x, p["norm"]) @ p["embedding"].T
        lse = jax.nn.logsumexp(logits.astype(jnp.float32), -1)
        hit = jnp.take_along_axis(logits, tok[..., None], -1)[..., 0].astype(jnp.float32)
        return (lse - hit).mean()

    def step(p, m, v, tok):
        value, g = jax.value_and_grad(loss)(p, tok)
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        p = jax.tree.map(lambda a, b, c: a * (1 - 1e-6) - 1e-4 * b / (jnp.sqrt(c) + 1e-8), p, m, v)
        return p, m, v, value

    compiled = jax.jit(step, donate_argnums=(0, 1, 2))
    state = [p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p)]

    def run():
        *state[:], value = compiled(*state, tok)
        return value

    return run, float, f"JAX {jax.__version__}"


def jax_mlp():
    import jax
    import jax.numpy as jnp

    key = jax.random.key(0)
    params = [(jax.random.normal(key, (m, n)) / math.sqrt(m), jnp.zeros(n)) for m, n in zip(SIZES, SIZES[1:])]
    x, y = jnp.asarray(waves(128, 784)), jnp.asarray(ids(10, 128))

    def loss(p, x, y):
        for i, (w, b) in enumerate(p):
            x = x @ w + b
            x = jax.nn.relu(x) if i < 2 else x
        return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], -1).mean()

    def step(p, x, y):
        with jax.default_matmul_precision("highest"):
            value, g = jax.value_and_grad(loss)(p, x, y)
        return jax.tree.map(lambda a, b: a - 0.01 * b, p, g), value

    compiled = jax.jit(step, donate_argnums=0)
    state = dict(p=params)

    def run():
        state["p"], value = compiled(state["p"], x, y)
        return value

    return run, float, f"JAX {jax.__version__}"


def torch_side(compiled):
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(D, bias=False), nn.LayerNorm(D, bias=False)
            self.qkv, self.project = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)
            self.up, self.down = nn.Linear(D, 4 * D, bias=False), nn.Linear(4 * D, D, bias=False)

        def forward(self, x):
            q, k, v = [t.view(B, T, H, D // H).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(D, 2)]
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.project(a.transpose(1, 2).reshape(B, T, D))
            return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.positions = nn.Embedding(V, D), nn.Parameter(torch.randn(T, D) * 0.02)
            nn.init.normal_(self.embedding.weight, std=0.02)
            self.blocks, self.norm = nn.Sequential(*[Block() for _ in range(L)]), nn.LayerNorm(D, bias=False)

        def forward(self, tok):
            x = self.norm(self.blocks(self.embedding(tok) + self.positions))
            return (x @ self.embedding.weight.T).view(-1, V)

    is_gpt = MODEL != "mlp"
    if is_gpt:
        model = Gpt().cuda()
        x = torch.tensor(ids(V, B, T)).long().cuda()
        y = x.view(-1)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    else:
        layers = [part for m, n in zip(SIZES, SIZES[1:]) for part in (nn.Linear(m, n), nn.ReLU())]
        model = nn.Sequential(*layers[:-1]).cuda()
        x, y = torch.tensor(waves(128, 784)).cuda(), torch.tensor(ids(10, 128)).long().cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def loss_of():
        return F.cross_entropy(model(x), y)

    forward = torch.compile(loss_of) if compiled else loss_of

    def run():
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=is_gpt):
            loss = forward()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return run, lambda loss: loss.item(), f"PyTorch {torch.__version__}"


if PEER == "jax":
    run, read, version = jax_mlp() if MODEL == "mlp" else jax_gpt()
else:
    run, read, version = torch_side(PEER == "compile")
print(json.dumps(dict(version=version)), flush=True)
for line in sys.stdin:
    steps = json.loads(line)["steps"]
    begun = time.perf_counter()
    for _ in range(steps):
        loss = run()
    value = read(loss)
    print(json.dumps(dict(ms=(time.perf_counter() - begun) / steps * 1e3, loss=value)), flush=True)
