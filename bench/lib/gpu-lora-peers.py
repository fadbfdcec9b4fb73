# PyTorch's side of gpu-lora.ts: gpu-lora-peers.py <eager|compile> <task>, where the task is JSON: config, rows, length.
# transformers with PEFT, or where PEFT is missing the same LoRA by hand; base and adapter in bfloat16, flash attention.
# For each line that asks for some steps, the milliseconds of one and the last loss, as JSON.
import json
import math
import sys
import time

import torch
import torch.nn.functional as F
from transformers import AttentionInterface, LlamaConfig, LlamaForCausalLM

PEER, TASK = sys.argv[1], json.loads(sys.argv[2])
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
RANK, ALPHA = 16, 32
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def causal(module, query, key, value, attention_mask, scaling=None, **kwargs):
    # transformers gives the compiled model a mask, with which PyTorch does not take its flash kernels.
    out = F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling, enable_gqa=True)
    return out.transpose(1, 2).contiguous(), None


class Lora(torch.nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        like = dict(device=base.weight.device, dtype=base.weight.dtype)
        self.a = torch.nn.Parameter(torch.empty(RANK, base.in_features, **like))
        self.b = torch.nn.Parameter(torch.zeros(base.out_features, RANK, **like))
        torch.nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.a), self.b) * (ALPHA / RANK)


def adapted(model):
    try:
        from peft import LoraConfig, __version__, get_peft_model
    except ImportError:
        model.requires_grad_(False)
        for module in list(model.modules()):
            for name, child in list(module.named_children()):
                if name in TARGETS:
                    setattr(module, name, Lora(child))
        return model, "LoRA by hand"
    config = LoraConfig(r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, target_modules=list(TARGETS))
    # Adapters in float32 would compute in it: this is PEFT at its fastest.
    return get_peft_model(model, config, autocast_adapter_dtype=False), f"PEFT {__version__}"


def main():
    torch.manual_seed(0)
    AttentionInterface.register("causal", causal)
    config = LlamaConfig(**{**TASK["config"], "use_cache": False})
    with torch.device(DEVICE):
        model = LlamaForCausalLM._from_config(config, dtype=torch.bfloat16, attn_implementation="causal")
    model, lora = adapted(model)
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4, weight_decay=0.01, fused=DEVICE == "cuda")
    rows, length = TASK["rows"], TASK["length"]
    ids = torch.randint(config.vocab_size, (rows, length), device=DEVICE)

    def loss_of():
        return model(input_ids=ids, labels=ids).loss

    forward = torch.compile(loss_of) if PEER == "compile" else loss_of

    def step():
        loss = forward()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    count = sum(p.numel() for p in trained)
    attention = model.config._attn_implementation
    print(f"{PEER}: {lora}, {count} numbers trained, attention {attention}", file=sys.stderr)
    print(json.dumps(dict(version=f"PyTorch {torch.__version__}, {lora}")), flush=True)
    for line in sys.stdin:
        steps = json.loads(line)["steps"]
        # The memory was given back to the others; this step asks for it again.
        step().item()
        begun = time.perf_counter()
        for _ in range(steps):
            loss = step()
        value = loss.item()
        ms = (time.perf_counter() - begun) / steps * 1e3
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
        print(json.dumps(dict(ms=ms, loss=value)), flush=True)


main()
