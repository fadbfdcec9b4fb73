# transformers' side of lm.ts: for each line it reads, what that asks for, as JSON.
import json
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
    num_key_value_heads=3, max_position_embeddings=8192, rms_norm_eps=1e-5, rope_theta=100000.0,
    tie_word_embeddings=True)).eval()


def per_token(tokens, prompt):
    ids = torch.arange(3, 3 + prompt)[None]
    begun = time.perf_counter()
    with torch.inference_mode():
        model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, min_new_tokens=tokens,
                       max_new_tokens=tokens, eos_token_id=None, pad_token_id=0)
    return (time.perf_counter() - begun) * 1000 / tokens


if __name__ == "__main__":
    print(json.dumps({"version": torch.__version__}), flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        torch.set_num_threads(ask["threads"])
        print(json.dumps(per_token(ask["generate"], ask["prompt"])), flush=True)
