"""Tests the errors and warnings of `examples/prepare_text.py`: each is one line, which states what to change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import cs336
import numpy as np
import pytest

tokenizers = pytest.importorskip("tokenizers")

SCRIPT = Path(__file__).parents[2] / "examples" / "prepare_text.py"
# Two blocks of 16384 characters, in lines of 8.
TWO_BLOCKS = b"the day\n" * 4096


def prepare(text: bytes, folder: Path, out: str = "out") -> subprocess.CompletedProcess[str]:
    (folder / "text").write_bytes(text)
    command = [sys.executable, str(SCRIPT), "text", "--out", out, "--vocab-size", "300", "--held-out", "0.5"]
    environment = os.environ | {"PYTHONPATH": str(Path(cs336.__file__).parents[1])}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, timeout=300)


def test_the_size_that_a_text_requires(tmp_path: Path) -> None:
    refused = prepare(TWO_BLOCKS[: len(TWO_BLOCKS) // 2], tmp_path)
    assert refused.returncode == 1
    assert refused.stderr == (
        "prepare_text: error: text: the text is too short: it has 1 of the 2 blocks of whole lines that --held-out 0.5 "
        "requires (about 32768 characters): pass a longer text or a larger --held-out\n"
    )
    assert prepare(TWO_BLOCKS, tmp_path).returncode == 0


def test_a_text_without_line_ends_is_cut(tmp_path: Path) -> None:
    text = TWO_BLOCKS.replace(b"\n", b" ")
    assert prepare(text, tmp_path).returncode == 0
    parts = {name: np.fromfile(tmp_path / f"out/{name}.bin", "<u2") for name in ("train", "held_out")}
    tokenizer = tokenizers.Tokenizer.from_file(str(tmp_path / "out/tokenizer.json"))
    assert [tokenizer.decode(parts[name]) for name in ("train", "held_out")] == [text[: len(text) // 2].decode()] * 2


def test_bytes_that_are_not_utf8_are_counted(tmp_path: Path) -> None:
    done = prepare("a\N{REPLACEMENT CHARACTER}é\n".encode() + b"\xff\xe9t\xe9\n" + TWO_BLOCKS, tmp_path)
    assert done.returncode == 0
    assert done.stderr == (
        "prepare_text: warning: text: 3 bytes are not UTF-8, each is replaced by U+FFFD: convert the file to UTF-8 to "
        "keep its characters\n"
    )
    tokens = np.fromfile(tmp_path / "out/train.bin", "<u2")
    decoded = tokenizers.Tokenizer.from_file(str(tmp_path / "out/tokenizer.json")).decode(tokens)
    assert decoded.startswith("a\ufffdé\n\ufffd\ufffdt\ufffd\nthe day\n")
    assert json.loads((tmp_path / "out/meta.json").read_text())["text_bytes"] == len(TWO_BLOCKS) + 18
    assert prepare("é\n".encode() + TWO_BLOCKS, tmp_path).stderr == ""


@pytest.mark.parametrize(("out", "reason"), [("/proc/x", "No such file or directory"), ("text", "File exists")])
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, out: str, reason: str) -> None:
    refused = prepare(TWO_BLOCKS, tmp_path, out)
    assert refused.returncode == 1
    assert refused.stderr == (
        f"prepare_text: error: --out: cannot make the folder '{out}': {reason}: pass another folder\n"
    )
