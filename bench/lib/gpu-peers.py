# JAX's and PyTorch's side of gpu.ts: the same models, a JSON line for each. gpu-peers.py <steps of the GPT> [names…]
import json
import math
import os
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
ROUNDS = 3
L, D, H, V, B, T = 4, 768, 12, 32768, 16, 512
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
CHOSEN = sys.argv[2:]


def report(name, run, wait, steps):
    if CHOSEN and name not in CHOSEN:
        return
    begun = time.perf_counter()
    try:
        for _ in range(20):
            out = run()
        wait(out)
        compiled = time.perf_counter() - begun
        all_ms = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            for _ in range(steps):
                out = run()
            loss = wait(out)
            all_ms.append((time.perf_counter() - begun) / steps * 1e3)
        print(json.dumps(dict(peer=name, ms=sorted(all_ms)[ROUNDS // 2], all=all_ms, loss=loss, compile=compiled)), flush=True)
    except Exception as error:
        print(json.dumps(dict(peer=name, error=repr(error)[:500])), flush=True)


def ids(below, *shape):
    import numpy as np

    n = int(np.prod(shape))
    # As in gpu-models.ts: a JavaScript number keeps 53 bits of the product.
    return np.array([((int(float(i) * 2654435761.0) & 0xFFFFFFFF) >> 7) % below for i in range(n)], dtype=np.int32).reshape(shape)


def jax_side():
    import jax
    import jax.numpy as jnp
    import numpy as np

    key = jax.random.key(0)
    tok = jnp.asarray(ids(V, B, T))

    def init():
        p = dict(embedding=0.02 * jax.random.normal(key, (V, D)), positions=0.02 * jax.random.normal(key, (T, D)), norm=jnp.ones(D))
        for i in range(L):
            p[f"{i}.norm1"] = jnp.ones(D)
            p[f"{i}.norm2"] = jnp.ones(D)
            for name, shape in (("qkv", (D, 3 * D)), ("project", (D, D)), ("up", (D, 4 * D)), ("down", (4 * D, D))):
                p[f"{i}.{name}"] = 0.02 * jax.random.normal(key, shape)
        return p

    def norm(x, g):
        y = x.astype(jnp.float32)
        c = y - y.mean(-1, keepdims=True)
        return (c / jnp.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * g).astype(x.dtype)

    def make(dtype, fused):
        def loss(p, tok):
            p = jax.tree.map(lambda a: a.astype(dtype), p)
            x = p["embedding"][tok] + p["positions"]
            for i in range(L):
                q, k, v = [t.reshape(B, T, H, D // H) for t in jnp.split(norm(x, p[f"{i}.norm1"]) @ p[f"{i}.qkv"], 3, -1)]
                a = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn" if fused else "xla")
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

        return jax.jit(step, donate_argnums=(0, 1, 2))

    def gpt(dtype, fused):
        state = {}

        def run():
            if not state:
                p = init()
                state["s"] = (p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p))
                state["f"] = make(dtype, fused)
            p, m, v, value = state["f"](*state["s"], tok)
            state["s"] = (p, m, v)
            return value

        return run

    report("jax gpt bf16 cudnn", gpt(jnp.bfloat16, True), float, STEPS)
    report("jax gpt bf16 plain", gpt(jnp.bfloat16, False), float, STEPS)

    sizes = [784, 256, 256, 10]
    params = [(jax.random.normal(key, (m, n)) / math.sqrt(m), jnp.zeros(n)) for m, n in zip(sizes, sizes[1:])]
    x, y = jnp.sin(jnp.arange(128 * 784) * 0.7).reshape(128, 784), jnp.asarray(ids(10, 128))

    def mlp_loss(p, x, y):
        for i, (w, b) in enumerate(p):
            x = x @ w + b
            x = jax.nn.relu(x) if i < 2 else x
        return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], -1).mean()

    for precision in ("highest", "default"):
        state = dict(p=params)

        def mlp_step(p, x, y):
            with jax.default_matmul_precision(precision):
                value, g = jax.value_and_grad(mlp_loss)(p, x, y)
            return jax.tree.map(lambda a, b: a - 0.01 * b, p, g), value

        f = jax.jit(mlp_step)

        def run():
            state["p"], value = f(state["p"], x, y)
            return value

        report(f"jax mlp float32 {precision}", run, float, 2000)


def torch_side():
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")

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
            logits = x @ self.embedding.weight.T
            return F.cross_entropy(logits.view(-1, V), tok.view(-1))

    tok = torch.tensor(ids(V, B, T)).long().cuda()
    for compiled in (False, True):
        model = Gpt().cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        forward = torch.compile(model) if compiled else model

        def run():
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = forward(tok)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            return loss

        report(f"torch gpt bf16 {'compiled' if compiled else 'eager'}", run, lambda loss: loss.item(), STEPS)

    for compiled in (False, True):
        mlp = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
        optimizer = torch.optim.SGD(mlp.parameters(), lr=0.01)
        x, y = torch.randn(128, 784).cuda(), torch.tensor(ids(10, 128)).long().cuda()
        forward = torch.compile(mlp) if compiled else mlp

        def run():
            loss = F.cross_entropy(forward(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            return loss

        report(f"torch mlp float32 {'compiled' if compiled else 'eager'}", run, lambda loss: loss.item(), 1000)


jax_side()
torch_side()
