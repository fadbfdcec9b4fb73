"""What transformers' apply_chat_template makes of each template and case in templates/: JSON on the standard output.

    python3 tests/lm/text/render-templates.py > tests/lm/text/templates/rendered.json
"""
import json
from pathlib import Path

from transformers import PreTrainedTokenizerFast

here = Path(__file__).parent
cases = json.loads((here / "templates/cases.json").read_text())
tokenizer = PreTrainedTokenizerFast(
    tokenizer_file=str(here / "fixtures/byte-level.json"), bos_token="<|endoftext|>", eos_token="<|im_end|>")
rendered: dict[str, dict[str, object]] = {}
for file in sorted((here / "templates").glob("*.jinja")):
    rendered[file.stem] = {}
    for name, case in cases.items():
        try:
            text = tokenizer.apply_chat_template(
                case["messages"], tools=case.get("tools"), chat_template=file.read_text(), tokenize=False,
                add_generation_prompt=case.get("add_generation_prompt", False))
        except Exception as error:
            text = {"error": str(error)}
        rendered[file.stem][name] = text
print(json.dumps(rendered, indent=0))
