# PyTorch's side of engines.ts: for each line it reads, what that asks for, as JSON.
import json
import resource
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCABULARY = 65


def causal(q, k, v):
    # Before PyTorch 2 it had to be written out.
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    hidden = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).triu(1)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        seen = causal(q, k, v)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def mlp():
    layers = [nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)]
    return nn.Sequential(*layers), torch.randn(128, 784), torch.arange(128) % 10


def cnn():
    net = nn.Sequential(
        *[nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)],
        *[nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()],
        *[nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)],
    )
    return net, torch.randn(64, 1, 28, 28), torch.arange(64) % 10


def convolution(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=(kernel - 1) // 2, bias=False)


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.path = nn.Sequential(
            *[convolution(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs), nn.ReLU()],
            *[convolution(outputs, outputs, 3), nn.BatchNorm2d(outputs)],
        )
        wider = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Identity() if inputs == outputs else wider

    def forward(self, x):
        return F.relu(self.path(x) + self.shortcut(x))


def resnet():
    net = nn.Sequential(
        *[convolution(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU()],
        *[ResidualBlock(16, 16, 1), ResidualBlock(16, 32, 2), ResidualBlock(32, 64, 2)],
        *[nn.AvgPool2d(8), nn.Flatten(), nn.Linear(64, 10)],
    )
    return net, torch.randn(32, 3, 32, 32), torch.arange(32) % 10


def gpt(layers, width, heads, sequences, tokens):
    blocks = [Block(width, heads) for _ in range(layers)]
    net = nn.Sequential(nn.Embedding(VOCABULARY, width), *blocks, nn.LayerNorm(width), nn.Linear(width, VOCABULARY))
    ids = torch.randint(0, VOCABULARY, (sequences, tokens))
    return net, ids, ids.view(-1)


MODELS = {
    "mlp": mlp,
    "cnn": cnn,
    "resnet": resnet,
    "gpt": lambda: gpt(2, 128, 4, 8, 64),
    "gptLarge": lambda: gpt(4, 256, 8, 8, 128),
}
made = {}


def step_of(name):
    if name not in made:
        net, x, y = MODELS[name]()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

        def step():
            optimizer.zero_grad()
            out = net(x)
            loss = F.cross_entropy(out.view(-1, out.shape[-1]), y)
            loss.backward()
            optimizer.step()
            return loss.item()

        made[name] = step
    return made[name]


def run(ask):
    torch.set_num_threads(ask["threads"])
    step = step_of(ask["model"])
    times = []
    for _ in range(ask["steps"]):
        begun = time.perf_counter()
        step()
        times.append((time.perf_counter() - begun) * 1e3)
    return times


if __name__ == "__main__":
    print(json.dumps({"version": torch.__version__}), flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 if "peak" in ask else None
        print(json.dumps(peak if "peak" in ask else run(ask)), flush=True)
