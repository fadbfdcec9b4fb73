# PyTorch's side of distributed.ts: one rank of DistributedDataParallel over gloo, with its share of the same global batch.
# Says the milliseconds of each step, as JSON.
import importlib.util
import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

here = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("engines", os.path.join(here, "torch-engines.py"))
engines = importlib.util.module_from_spec(spec)
spec.loader.exec_module(engines)

model, steps, port = sys.argv[1], int(sys.argv[2]), sys.argv[3]
rank, size = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
torch.set_num_threads(1)
torch.manual_seed(0)


def mlp_wide():
    layers = [nn.Linear(784, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 10)]
    return nn.Sequential(*layers), torch.randn(512 // size, 784), torch.arange(512 // size) % 10


net, x, y = {"mlpWide": mlp_wide, "gptLarge": lambda: engines.gpt(4, 256, 8, 8 // size, 128)}[model]()
if size > 1:
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    net = nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
times = []
for _ in range(steps):
    begun = time.perf_counter()
    optimizer.zero_grad()
    out = net(x)
    loss = F.cross_entropy(out.view(-1, out.shape[-1]), y)
    loss.backward()
    optimizer.step()
    loss.item()
    times.append((time.perf_counter() - begun) * 1e3)
if rank == 0:
    print(json.dumps({"version": torch.__version__, "times": times}), flush=True)
if size > 1:
    dist.barrier()
    dist.destroy_process_group()
    # PyTorch 2.13 aborts now and then while its threads are taken down: what was measured has been said.
    sys.stdout.flush()
    os._exit(0)
