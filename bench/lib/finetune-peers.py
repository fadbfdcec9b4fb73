# PyTorch's and PEFT's side of finetune.ts. With a folder alone: writes the model there, unless it is there already. With a
# task: trains it, and for each line it reads, says what that asks for, as JSON.
import json
import os
import resource
import sys
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

SHAPE = dict(
    vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
    num_key_value_heads=3, max_position_embeddings=8192, rms_norm_eps=1e-5, rope_theta=100000.0,
    tie_word_embeddings=True)


def write(folder):
    if not os.path.exists(os.path.join(folder, "config.json")):
        torch.manual_seed(0)
        LlamaForCausalLM(LlamaConfig(**SHAPE)).save_pretrained(folder)


def trained(folder, task):
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    if task["recompute"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if task["adapter"]:
        targets = "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj".split()
        model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=targets))
    model.config.use_cache = False
    return model.train()


def main(folder, task):
    model = trained(folder, task)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    ids = torch.arange(task["rows"] * task["length"]).view(task["rows"], task["length"]) % 49000

    def step():
        begun = time.perf_counter()
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        return (time.perf_counter() - begun) * 1000

    print(json.dumps({"version": torch.__version__}), flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        if "steps" in ask:
            print(json.dumps([step() for _ in range(ask["steps"])]), flush=True)
        else:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(json.dumps({"peakRssMiB": peak}), flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        write(sys.argv[1])
    else:
        main(sys.argv[1], json.loads(sys.argv[2]))
