"""Trains the small tokenizers of tests/lm/text/fixtures, and writes the texts and what Hugging Face makes of them.

    python3 tests/lm/text/make-fixtures.py [path of GPT-2's tokenizer.json]

Needs tokenizers and transformers. The tests compare with the files that it writes, and call it with `--print` for a
comparison on the spot where Python has the packages.
"""
import hashlib, json, random, sys
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

here = Path(__file__).parent
out = here / "fixtures"

SENTENCES = [
    "The river rises early in spring, and the boats stay in the harbour until May.",
    "Der Fluss steigt früh im Jahr; über Größe und Maß lässt sich streiten.",
    "Le fleuve monte tôt au printemps, et l’été s’achève déjà – n’est-ce pas ?",
    "Река поднимается рано весной, а лодки остаются в гавани до мая.",
    "Ο ποταμός ανεβαίνει νωρίς την άνοιξη και οι βάρκες μένουν στο λιμάνι.",
    "يرتفع النهر مبكراً في الربيع، وتبقى القوارب في الميناء حتى شهر مايو.",
    "הנהר עולה מוקדם באביב, והסירות נשארות בנמל עד חודש מאי.",
    "नदी वसंत में जल्दी बढ़ती है, और नावें मई तक बंदरगाह में रहती हैं।",
    "แม่น้ำขึ้นเร็วในฤดูใบไม้ผลิ และเรือยังคงอยู่ในท่าเรือจนถึงเดือนพฤษภาคม",
    "河水在早春上涨，船只要到五月才离开港口。",
    "川は早春に増水し、船は五月まで港にとどまります。カタカナも少し。",
    "강물은 이른 봄에 불어나고, 배들은 오월까지 항구에 머뭅니다.",
    "Sông dâng sớm vào mùa xuân, và thuyền ở lại bến cảng đến tháng Năm.",
]
CODE = [
    "def area(r: float) -> float:\n    return 3.14159 * r**2  # πr²\n\n\nprint(area(2.5))\n",
    "for (let i = 0; i < rows.length; i++) {\n\tconst { x, y } = rows[i]!;\n\tsum += x * y;\n}\n",
    "SELECT name, COUNT(*) AS n FROM trips WHERE year >= 2021 GROUP BY name ORDER BY n DESC;",
    '{"a": [1, 2.50, -3e-7], "b": {"c": null, "d": "\\u00e9\\n"}}',
    "<div class=\"row\"><a href='/x?y=1&z=%20'>It's  here</a></div>",
    "#include <stdio.h>\r\nint main(void)\r\n{\r\n  puts(\"hi\");\r\n}\r\n",
]
ODD = [
    "", " ", "  ", "\n", "\n\n\n", "\t", " \n ", "a", " a", "a ", "  a  b   c    ", "\u00a0", "\u3000x", "\u200b", "\ufeffBOM",
    "It's we'll I'd YOU'RE they'VE don'T", "1234567890 12 345,678.90 1e9", "....!!!???", "a\u0301e\u0308 é ë", "ﬁ ﬂ ½ Ⅷ ①",
    "👩‍👩‍👧‍👦 👍🏽 🇨🇭 ❤️ 🫠", "𝕳𝖊𝖑𝖑𝖔 𐍈 𝄞", "x" * 300, "ab " * 60, "▁under▁lines ▁", "Ġgpt Ċ", "<0x41> <0xE2>", "<s> </s> <unk>",
    "<|im_start|>user\nHi<|im_end|>\n", "<|endoftext|>", "<start_of_turn>model\n", "[INST] x [/INST]", "\x00\x01\x7f", "\\n \\u0041",
    "Straße STRASSE İi ıI ß ẞ", "مَرْحَبًا", "שָׁלוֹם", "ก็ น้ำ", "क्षत्रिय", "한국어", "e\u200ds", "\u202eabc",
]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def random_texts(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    blocks = [(0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x6FF), (0x900, 0xDFF), (0x2000, 0x2BFF), (0x3000, 0x9FFF),
              (0xAC00, 0xD7A3), (0xE000, 0xFFFD), (0x1F300, 0x1FAFF), (0x10000, 0x10FFFF)]
    def one() -> str:
        start, end = rng.choice(blocks)
        while True:
            point = rng.randint(start, end)
            if not 0xD800 <= point <= 0xDFFF and point & 0xFFFE != 0xFFFE and not 0xFDD0 <= point <= 0xFDEF:
                return chr(point)
    return ["".join(one() + rng.choice(["", "", "", " ", "\n"]) for _ in range(rng.randint(1, 40))) for _ in range(count)]


def texts() -> list[str]:
    rng = random.Random(7)
    mixed = []
    for _ in range(60):
        parts = rng.sample(SENTENCES + CODE + ODD, 3)
        mixed.append(rng.choice([" ", "\n", "", "  "]).join(part[: rng.randint(1, 60)] for part in parts))
    return SENTENCES + CODE + ODD + mixed + random_texts(11, 180)


def corpus() -> list[str]:
    """What the tokenizers are trained on: enough for words of each script to become tokens."""
    rng = random.Random(3)
    words = [word for text in SENTENCES + CODE for word in text.split(" ")]
    return [" ".join(rng.choices(words, k=12)) for _ in range(400)] + SENTENCES + CODE


def byte_level(gpt2: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=not gpt2))
    if gpt2:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        # As in newer models: words with a character before them, numbers of three digits, line ends with what precedes them.
        pattern = r"(?i:'(?:s|t|re|ve|m|ll|d))|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=900, special_tokens=SPECIAL[:1] if gpt2 else SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    if not gpt2:
        begin = "<|endoftext|>"
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A", special_tokens=[(begin, tokenizer.token_to_id(begin))])
    return tokenizer


def sentence_piece(style: str) -> Tokenizer:
    """`llama`: a space before every text; `metaspace`: before the first alone; `gemma`: none."""
    special = ["<unk>", "<s>", "</s>"]
    if style == "gemma":
        special = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never" if style == "gemma" else "always")
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=700, special_tokens=special, show_progress=False, limit_alphabet=250))
    trained = json.loads(tokenizer.to_str())
    # The byte tokens lie between the special and the ordinary ones; merges name texts, so ids may move.
    tokens = sorted(trained["model"]["vocab"], key=trained["model"]["vocab"].get)
    ordered = special + [f"<0x{byte:02X}>" for byte in range(256)] + tokens[len(special):]
    trained["model"] |= {"vocab": {token: i for i, token in enumerate(ordered)}, "byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>"}
    tokenizer = Tokenizer.from_str(json.dumps(trained))
    to_mark = normalizers.Replace(" ", "▁")
    from_bytes = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if style == "llama":
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), to_mark])
        tokenizer.pre_tokenizer = None
        tokenizer.decoder = decoders.Sequence([*from_bytes, decoders.Strip(" ", 1, 0)])
    elif style == "metaspace":
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        tokenizer.decoder = decoders.Sequence([*from_bytes, decoders.Strip(" ", 1, 0)])
    else:
        tokenizer.normalizer = to_mark
        tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
        tokenizer.decoder = decoders.Sequence(from_bytes)
    begin = "<bos>" if style == "gemma" else "<s>"
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{begin} $A", special_tokens=[(begin, ordered.index(begin))])
    return tokenizer


def make() -> dict[str, Tokenizer]:
    return {
        "gpt2": byte_level(True),
        "byte-level": byte_level(False),
        "llama": sentence_piece("llama"),
        "metaspace": sentence_piece("metaspace"),
        "gemma": sentence_piece("gemma"),
    }


def digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()[:12]


def facts(tokenizer: Tokenizer, all_texts: list[str]) -> list[str]:
    """For each text a digest of its ids without and with special tokens, and of what the ids are decoded to."""
    rows = []
    for text in all_texts:
        plain, special = tokenizer.encode(text, add_special_tokens=False).ids, tokenizer.encode(text).ids
        rows.append(digest([plain, special, tokenizer.decode(plain, skip_special_tokens=False), tokenizer.decode(special)]))
    return rows


if __name__ == "__main__":
    if sys.argv[1:2] == ["--print"]:
        # Files of tokenizers as arguments, texts on the standard input.
        all_texts = json.load(sys.stdin)
        print(json.dumps([facts(Tokenizer.from_file(file), all_texts) for file in sys.argv[2:]]))
    else:
        out.mkdir(exist_ok=True)
        all_texts = texts()
        (out / "texts.json").write_text(json.dumps(all_texts, ensure_ascii=True, indent=0) + "\n")
        expected = {}
        for name, tokenizer in make().items():
            (out / f"{name}.json").write_text(tokenizer.to_str() + "\n")
            expected[name] = facts(Tokenizer.from_file(str(out / f"{name}.json")), all_texts)
        if len(sys.argv) > 1:
            expected["npm-gpt2"] = facts(Tokenizer.from_file(sys.argv[1]), all_texts)
        (out / "digests.json").write_text(json.dumps(expected, indent=0) + "\n")
