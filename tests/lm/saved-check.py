# Logits of saved models: what hookline has written is loaded by transformers, and by PEFT where it is an adapter.
# Arguments: pairs of the base's folder ("" for a whole model) and the saved folder, which has check.safetensors: ids, logits.
import os
import sys
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")
import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

torch.set_num_threads(1)
load = lambda path: AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="eager")
for base, saved, checks in zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3]):
    model = PeftModel.from_pretrained(load(base), saved) if base else load(saved)
    golden = load_file(checks)
    with torch.no_grad():
        logits = model.eval()(input_ids=golden["ids"].long()).logits
    print(float((logits - golden["logits"]).abs().max() / golden["logits"].abs().max()))
