"""PyTorch's half of the exchange of whole runs: goes on from the checkpoints in FOLDER/ours, leaves its own in FOLDER/theirs.

The tests run it with Debian's python3-torch 1.13. For another PyTorch (from 2.0 on, everything is loaded with
weights_only=True), on any machine:

    npx tsx tests/interop/checkpoints-runs.ts FOLDER                             # where Node is
    python3 tests/interop/checkpoints-torch.py FOLDER                            # where that PyTorch is
    HOOKLINE_CHECKPOINTS=FOLDER npx vitest run tests/interop/checkpoints-torch   # where Node is

With Python's safetensors installed it reads those files with it; with Lightning it also saves a checkpoint of Lightning's
own. It prints one line per check, with the largest difference: of outputs as it is, of a tensor relative to its largest
number.

Last done with torch 2.11.0+cu130, safetensors 0.8.0 and Lightning 2.6.6: all 25 checks ok; outputs within 3.6e-07, 3 more
steps within 8.1e-07; then all of theirs gone on with here, Lightning's own checkpoint too.
"""
import copy
import json
import os
import sys
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.dont_write_bytecode = True
from torch_models import MODELS, load_safetensors, numbers, safetensors

torch.set_num_threads(1)
folder = Path(sys.argv[1])
ours, theirs = folder / "ours", folder / "theirs"
theirs.mkdir(exist_ok=True)
# Before 2.0 weights_only refuses floats, and so every optimizer's state.
SAFE = int(torch.__version__.split(".")[0]) >= 2

OPTIMIZERS = {
    "adamw": lambda m: torch.optim.AdamW(m.parameters(), lr=0.01, eps=1e-3),
    "sgd": lambda m: torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9),
}
LOSSES = {
    "mlp": F.mse_loss,
    "cnn": F.cross_entropy,
    "transformer": lambda outputs, y: F.cross_entropy(outputs.flatten(0, -2), y.flatten()),
}


def tensor(host):
    dtype = torch.int64 if host["whole"] else torch.float32
    return torch.tensor(host["data"], dtype=dtype).reshape(host["shape"])


given = json.loads((ours / "runs.json").read_text())
STEPS, BATCH = given["steps"], given["batch"]
DATA = {name: {key: tensor(host) for key, host in fields.items()} for name, fields in given["data"].items()}


def train(name, model, optimizer, steps):
    model.train()
    for step in steps:
        batch = slice(step * BATCH, (step + 1) * BATCH)
        optimizer.zero_grad()
        LOSSES[name](model(DATA[name]["x"][batch]), DATA[name]["y"][batch]).backward()
        optimizer.step()


def outputs(name, model):
    with torch.no_grad():
        return numbers(model.eval()(DATA[name]["input"]))


def final(model):
    return {key: numbers(value) for key, value in model.state_dict().items()}


def fresh(name):
    """A model with none of the numbers that it is to be given."""
    model = MODELS[name]()
    with torch.no_grad():
        for value in model.state_dict().values():
            value.fill_(7)
    return model


def apart(a, b):
    return max(abs(x - y) for x, y in zip(a, b, strict=True))


def check(what, difference):
    assert difference <= 1e-5, (what, difference)
    print(f"ok: {what}, within {difference:.1e}")


# Ours, gone on with there.
for run in given["runs"]:
    name, at = run["model"], ours / run["dir"] / run["checkpoint"]
    what = f"{name} with {run['optimizer']}"
    model = fresh(name)
    if run["format"] == "pt":
        checkpoint = torch.load(at / "checkpoint.pt", weights_only=SAFE)
        assert checkpoint["step"] == STEPS and checkpoint["epoch"] == 0, checkpoint
        model.load_state_dict(checkpoint["model"], strict=True)
    else:
        model.load_state_dict(load_safetensors(at / "model.safetensors"), strict=True)
    check(f"{what}, {run['format']}: outputs", apart(outputs(name, model), run["outputs"]))
    averaged = fresh(name)
    averaged.load_state_dict(load_safetensors(at / "model-ema.safetensors"), strict=True)
    check(f"{what}, {run['format']}: outputs of model-ema", apart(outputs(name, averaged), run["averaged"]))
    assert apart(run["averaged"], run["outputs"]) > 1e-4, "the average is no other model"
    if run["format"] == "pt":
        optimizer = OPTIMIZERS[run["optimizer"]](model)
        optimizer.load_state_dict(checkpoint["optimizer"])
        before = final(model)
        train(name, model, optimizer, range(STEPS, 2 * STEPS))
        after = final(model)
        scale = {key: max(map(abs, values)) for key, values in after.items()}
        assert after.keys() == run["final"].keys()
        assert any(apart(after[key], before[key]) > 1e-2 * scale[key] for key in after), "training moved nothing"
        check(f"{what}: {STEPS} more steps", max(apart(after[key], run["final"][key]) / scale[key] for key in after))

# Theirs, to be gone on with here: as most programs save them, in Lightning's shape, and the weights alone.
answers = {}
for name in MODELS:
    for kind, make in OPTIMIZERS.items():
        torch.manual_seed(5)
        model = MODELS[name]()
        optimizer = make(model)
        train(name, model, optimizer, range(STEPS))
        state = model.state_dict()
        whole = {"model": state, "optimizer": optimizer.state_dict(), "epoch": 1, "step": STEPS}
        torch.save(whole, theirs / f"{name}-{kind}.pt")
        wrapped = {f"model.{key}": value for key, value in state.items()}
        lightning = {"epoch": 1, "global_step": STEPS, "pytorch-lightning_version": "2.6.0", "state_dict": wrapped}
        lightning |= {"loops": {}, "callbacks": {}, "optimizer_states": [optimizer.state_dict()], "lr_schedulers": []}
        torch.save(lightning, theirs / f"{name}-{kind}.ckpt")
        torch.save(state, theirs / f"{name}-{kind}.pth")
        answer = {"outputs": outputs(name, model)}
        anew = copy.deepcopy(model)
        train(name, model, optimizer, range(STEPS, 2 * STEPS))
        train(name, anew, make(anew), range(STEPS, 2 * STEPS))
        answers[f"{name}-{kind}"] = answer | {"final": final(model), "anew": final(anew)}

# What cannot be gone on with.
model = MODELS["mlp"]()


def save(file, optimizer, state=model.state_dict()):
    train("mlp", model, optimizer, range(1))
    torch.save({"model": state, "optimizer": optimizer.state_dict(), "epoch": 0, "step": 1}, theirs / file)


halves = [[p for key, p in model.named_parameters() if key.endswith(end)] for end in ("weight", "bias")]
save("groups.pt", torch.optim.AdamW([{"params": half} for half in halves]))
save("amsgrad.pt", torch.optim.AdamW(model.parameters(), amsgrad=True))
save("order.pt", torch.optim.AdamW(list(model.parameters())[::-1]))
around = {f"model.{key}": value for key, value in model.state_dict().items()} | {"criterion.weight": torch.ones(2)}
torch.save({"state_dict": around, "global_step": 1}, theirs / "around.ckpt")
torch.save(model, theirs / "module.pt")


class Code:
    def __reduce__(self):
        return os.system, (f"touch '{folder.resolve()}/executed'",)


torch.save({"model": model.state_dict(), "note": Code()}, theirs / "code.pt")

try:
    import pytorch_lightning as lightning
except ImportError:
    lightning = None
if lightning:

    class Module(lightning.LightningModule):
        def __init__(self, width=16):
            super().__init__()
            self.save_hyperparameters()
            torch.manual_seed(5)
            self.model = MODELS["mlp"]()

        def training_step(self, batch, _):
            return F.mse_loss(self.model(batch[0]), batch[1])

        def configure_optimizers(self):
            return OPTIMIZERS["adamw"](self.model)

    module = Module()
    samples = torch.utils.data.TensorDataset(DATA["mlp"]["x"], DATA["mlp"]["y"])
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "accelerator": "cpu"}
    trainer = lightning.Trainer(max_steps=STEPS, enable_model_summary=False, **quiet)
    trainer.fit(module, torch.utils.data.DataLoader(samples, batch_size=BATCH))
    trainer.save_checkpoint(theirs / "lightning.ckpt")
    saved = torch.load(theirs / "lightning.ckpt", weights_only=False)
    own = torch.load(theirs / "mlp-adamw.ckpt", weights_only=False)
    assert all(torch.equal(saved["state_dict"][key], value) for key, value in own["state_dict"].items())
    print(f"ok: a checkpoint of Lightning {lightning.__version__} with {', '.join(saved)}")
(theirs / "answers.json").write_text(json.dumps(answers))
assert not (folder / "executed").exists()
library = f"safetensors {safetensors.__version__}" if safetensors else "no safetensors"
print(f"torch {torch.__version__}, {library}, weights_only={SAFE}: all good")
