#!/usr/bin/env python3
"""Converts a text file to token files for `train_text.py`.

Trains a byte-level BPE tokenizer on the training part of the text, then writes to one folder:

- `tokenizer.json`: the tokenizer in the format of the `tokenizers` library;
- `train.bin` and `held_out.bin`: token ids as consecutive little-endian uint16, for memory-mapping;
- `meta.json`: sizes, and the entropy of the text's single tokens, which a model has to beat.

Whole blocks of lines, spread evenly over the text, are held out. Lines longer than a block are cut.

    bible -l0 gen1:1-rev22:21 > bible.txt
    python examples/prepare_text.py bible.txt --vocab-size 10000 --out build/bible
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import cs336
import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

TOKEN_TYPE = np.dtype("<u2")
LARGEST_VOCABULARY = 1 << 16
BLOCK_CHARACTERS = 1 << 14
END_OF_TEXT = "<|endoftext|>"
# Bytes that are not UTF-8, as the codec "surrogateescape" decodes them, and the character that replaces each.
INVALID_BYTES = re.compile("[\udc80-\udcff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def read_blocks(path: Path) -> Iterator[str]:
    """Yield the text in pieces of whole lines, each of about `BLOCK_CHARACTERS`, with `INVALID_BYTES`.

    Lines of more characters are cut after so many, so that a text without line ends has blocks, too.
    """
    lines: list[str] = []
    size = 0
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        while line := file.readline(BLOCK_CHARACTERS):
            lines.append(line)
            size += len(line)
            if size >= BLOCK_CHARACTERS:
                yield "".join(lines)
                lines, size = [], 0
    if lines:
        yield "".join(lines)


def split_blocks(path: Path, held_out: float) -> tuple[list[str], list[str]]:
    """Return training and held-out blocks. Every 1/held_out-th block is held out.

    Bytes that are not UTF-8 are replaced, and a warning has their number.

    Raises
    ------
    ValueError
        If the text is too short for both parts.
    """
    training: list[str] = []
    held: list[str] = []
    invalid = 0
    for index, block in enumerate(read_blocks(path)):
        is_held = int((index + 1) * held_out) > int(index * held_out)
        valid, count = INVALID_BYTES.subn(REPLACEMENT, block)
        (held if is_held else training).append(valid)
        invalid += count
    if not training or not held:
        needed = max(2, math.ceil(1 / held_out))
        raise ValueError(
            f"{path}: the text is too short: it has {len(training) + len(held)} of the {needed} blocks of whole lines "
            f"that --held-out {held_out:g} requires (about {needed * BLOCK_CHARACTERS} characters): pass a longer text "
            "or a larger --held-out"
        )
    if invalid:
        print(
            f"prepare_text: warning: {path}: {invalid} bytes are not UTF-8, each is replaced by U+FFFD: convert the "
            "file to UTF-8 to keep its characters",
            file=sys.stderr,
        )
    return training, held


def train_tokenizer(blocks: list[str], vocab_size: int) -> Tokenizer:
    """Train a byte-level BPE of at most `vocab_size` tokens, which can encode any text and decodes it exactly."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=sys.stderr.isatty(),
    )
    tokenizer.train_from_iterator(blocks, trainer)
    return tokenizer


def encode(tokenizer: Tokenizer, blocks: list[str]) -> np.ndarray:
    """Return all tokens of the blocks, in order."""
    parts = [np.asarray(e.ids, TOKEN_TYPE) for e in tokenizer.encode_batch(blocks)]
    return np.concatenate(parts)


def entropy(tokens: np.ndarray, vocab_size: int) -> float:
    """Return the entropy of the distribution of single tokens, in nats."""
    counts = np.bincount(tokens, minlength=vocab_size)
    p = counts[counts > 0] / tokens.size
    return float(-np.sum(p * np.log(p)))


def make_folder(path: Path) -> None:
    """Make the folder of the results, unless it exists."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"--out: cannot make the folder '{path}': {error.strerror}: pass another folder") from error


def prepare(text: Path, out: Path, vocab_size: int, held_out: float) -> dict[str, float]:
    """Write the four files of the module's description. Return the contents of `meta.json`."""
    training, held = split_blocks(text, held_out)
    make_folder(out)
    print(f"training a tokenizer of {vocab_size} tokens on {len(training)} blocks of {text}", flush=True)
    tokenizer = train_tokenizer(training, vocab_size)
    train_tokens, held_tokens = encode(tokenizer, training), encode(tokenizer, held)
    size = tokenizer.get_vocab_size()
    whole = np.concatenate([train_tokens, held_tokens])
    text_bytes = sum(len(block.encode()) for block in training + held)
    meta = {
        "vocab_size": size,
        "train_tokens": int(train_tokens.size),
        "held_out_tokens": int(held_tokens.size),
        "text_bytes": text_bytes,
        "bytes_per_token": text_bytes / whole.size,
        "unigram_entropy": entropy(whole, size),
    }
    cs336.write_file(out / "tokenizer.json", tokenizer.to_str().encode())
    cs336.write_file(out / "train.bin", train_tokens.tobytes())
    cs336.write_file(out / "held_out.bin", held_tokens.tobytes())
    cs336.write_file(out / "meta.json", (json.dumps(meta, indent=2) + "\n").encode())
    return meta


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, metavar="FILE", help="text, read as UTF-8")
    parser.add_argument("--vocab-size", type=int, default=10000, help="maximum size, 257 to 65536 (default: 10000)")
    parser.add_argument("--held-out", type=float, default=0.05, help="fraction held out (default: 0.05)")
    parser.add_argument("--out", type=Path, help="folder for the results (default: FILE without extension)")
    a = parser.parse_args(arguments)
    if not 257 <= a.vocab_size <= LARGEST_VOCABULARY:
        parser.error(f"--vocab-size must be 257 (all bytes and {END_OF_TEXT}) to {LARGEST_VOCABULARY} (uint16)")
    if not 1e-6 <= a.held_out < 1:
        parser.error(f"--held-out is {a.held_out:g}, must be at least 1e-6 and less than 1")
    return a


def main(arguments: list[str] | None = None) -> int:
    a = parse_arguments(arguments)
    out = a.out or a.text.parent / a.text.stem
    try:
        meta = prepare(a.text, out, a.vocab_size, a.held_out)
    except (OSError, ValueError) as error:
        print(f"prepare_text: error: {error}", file=sys.stderr)
        return 1
    print(
        f"{out}: {meta['train_tokens']} training and {meta['held_out_tokens']} held-out tokens of "
        f"{meta['vocab_size']}, {meta['bytes_per_token']:.2f} bytes each, unigram entropy "
        f"{meta['unigram_entropy']:.3f} nats"
    )
    print(f"next: train_text.py {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
