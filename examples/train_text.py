#!/usr/bin/env python3
"""Trains a small Transformer language model on text, on a GPU or the CPU, and writes what it learned.

DATA is a folder that `prepare_text.py` made, or any file, whose bytes are then the tokens. Into the folder `--out` go

- `config.json`: everything that decides the run;
- `checkpoint.safetensors`: parameters and the optimizer's state, replaced as a whole every `--checkpoint-every` steps;
- `curve.csv`: step, loss, held-out loss, tokens per second;
- `sample.txt`: text that the trained model wrote.

`--resume` goes on from the checkpoint, `--overwrite` starts anew where there is one. The batch of a step depends on the
seed and the step alone, so that a resumed run repeats the curve of an uninterrupted one to the last bit.

    python examples/train_text.py build/bible --d-model 128 --num-layers 2 --num-heads 4 --steps 500 --out build/run
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cs336
import numpy as np
from numpy.typing import NDArray

HELD_OUT_FRACTION = 0.05


class TokenFile:
    """Tokens in a file, which need not fit in memory.

    They are read, not mapped: where a mapped file shrinks, the process ends by a signal.

    Parameters
    ----------
    path
        Of the file.
    dtype
        Of a token.
    """

    def __init__(self, path: Path, dtype: str) -> None:
        if not path.is_file():
            raise ValueError(f"{path} is not a regular file, or is missing")
        self._file = path.open("rb", buffering=0)
        self._dtype = np.dtype(dtype)
        self._bytes = os.fstat(self._file.fileno()).st_size
        if self._bytes % self._dtype.itemsize:
            raise ValueError(f"{path} has {self._bytes} bytes, must have {self._dtype.itemsize} per token")
        self.size = self._bytes // self._dtype.itemsize

    def read(self, begin: int, count: int) -> NDArray[Any]:
        """Read `count` tokens from number `begin` on.

        Raises
        ------
        ValueError
            If the file has become shorter since it was opened.
        """
        wanted = count * self._dtype.itemsize
        data = os.pread(self._file.fileno(), wanted, begin * self._dtype.itemsize)
        if len(data) != wanted:
            now = os.fstat(self._file.fileno()).st_size
            raise ValueError(
                f"{self._file.name} had {self._bytes} bytes when the run began, and has {now} now: restore it, then "
                "go on with --resume"
            )
        return np.frombuffer(data, self._dtype)


@dataclass(frozen=True)
class Tokens:
    """A part of a file's tokens."""

    file: TokenFile
    begin: int
    size: int

    def read(self, begin: int, count: int) -> NDArray[Any]:
        """Read `count` tokens of the part from its number `begin` on."""
        return self.file.read(self.begin + begin, count)


@dataclass(frozen=True)
class Text:
    """Token sequences and how they are written as text."""

    train: Tokens
    held_out: Tokens
    vocab_size: int
    encode: Callable[[str], list[int]]
    decode: Callable[[list[int]], str]


def open_text(path: Path) -> Text:
    """Open a folder of token files, or the bytes of a file."""
    if path.is_dir():
        from tokenizers import Tokenizer

        meta = json.loads((path / "meta.json").read_text())
        tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
        train, held_out = (TokenFile(path / name, "<u2") for name in ("train.bin", "held_out.bin"))
        return Text(
            Tokens(train, 0, train.size),
            Tokens(held_out, 0, held_out.size),
            meta["vocab_size"],
            lambda text: tokenizer.encode(text).ids,
            lambda ids: tokenizer.decode(ids),
        )
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is neither a folder nor a regular file")
    data = TokenFile(path, "u1")
    held_out_size = int(data.size * HELD_OUT_FRACTION)
    train_size = data.size - held_out_size
    return Text(
        Tokens(data, 0, train_size),
        Tokens(data, train_size, held_out_size),
        256,
        lambda text: list(text.encode()),
        lambda ids: bytes(ids).decode(errors="replace"),
    )


def batch_at(tokens: Tokens, starts: NDArray[np.integer[Any]], context: int) -> dict[str, NDArray[np.int64]]:
    """The sequences that begin at `starts`, and the same one token later."""
    rows = np.stack([tokens.read(int(start), context + 1) for start in starts]).astype(np.int64)
    return {"tokens": rows[:, :-1], "targets": rows[:, 1:]}


def training_batch(text: Text, config: cs336.TransformerConfig, seed: int, step: int) -> dict[str, NDArray[np.int64]]:
    """Random sequences that depend on the seed and the step alone."""
    last = text.train.size - config.context_length - 1
    starts = np.random.default_rng([seed, step]).integers(0, last + 1, config.batch_size)
    return batch_at(text.train, starts, config.context_length)


def held_out_loss(session: cs336.Session, text: Text, config: cs336.TransformerConfig, batches: int) -> float:
    """The mean loss over sequences spread evenly over the held-out text."""
    last = text.held_out.size - config.context_length - 1
    starts = np.linspace(0, last, batches * config.batch_size).astype(np.int64).reshape(batches, -1)
    return float(
        np.mean(
            [session.run("loss", batch_at(text.held_out, row, config.context_length))["loss"] for row in starts],
            dtype=np.float64,
        )
    )


def sample_token(logits: NDArray[Any], temperature: float, top_p: float, rng: np.random.Generator) -> int:
    """Draw from the smallest set of tokens whose probabilities sum to `top_p`; temperature 0 takes the likeliest."""
    if temperature == 0:
        return int(np.argmax(logits))
    scaled = logits.astype(np.float64) / temperature
    p = np.exp(scaled - scaled.max())
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    kept = order[: int(np.searchsorted(np.cumsum(p[order]), top_p)) + 1]
    return int(rng.choice(kept, p=p[kept] / p[kept].sum()))


def write_text(session: cs336.Session, text: Text, config: cs336.TransformerConfig, a: argparse.Namespace) -> str:
    """Continue the prompt by `--sample-tokens` tokens, seeing at most one context back."""
    rng = np.random.default_rng([a.seed, a.sample_tokens])
    ids = text.encode(a.prompt) or [0]
    window = np.zeros((config.batch_size, config.context_length), np.int64)
    for _ in range(a.sample_tokens):
        seen = ids[-config.context_length :]
        window[0, : len(seen)] = seen
        logits = session.run("forward", {"tokens": window})["logits"][0, len(seen) - 1]
        ids.append(sample_token(logits, a.temperature, a.top_p, rng))
    return text.decode(ids)


class Curve:
    """`curve.csv`: one row per step.

    Parameters
    ----------
    path
        Of the file.
    steps
        How many steps the checkpoint has done: their rows are kept.
    """

    COLUMNS = ("step", "loss", "held_out_loss", "tokens_per_second")

    def __init__(self, path: Path, steps: int) -> None:
        kept = self.read_rows(path, steps)
        last = int(kept[-1][0]) if kept else 0
        if last < steps:
            print(f"{path}: the rows of steps {last + 1} to {steps} are missing or damaged", file=sys.stderr)
        lines = [",".join(row) + "\n" for row in [self.COLUMNS, *kept]]
        cs336.write_file(path, "".join(lines).encode())
        self._file = path.open("a", newline="")
        self._writer = csv.writer(self._file, lineterminator="\n")

    @classmethod
    def read_rows(cls, path: Path, steps: int) -> list[list[str]]:
        """The rows of the steps up to `steps`, as far as they are whole.

        A machine that loses power can leave half a line, or zero bytes, at the end.
        """
        rows: list[list[str]] = []
        if steps == 0 or not path.exists():
            return rows
        *lines, _ = path.read_bytes().decode(errors="replace").split("\n")  # What follows the last newline is half.
        for line in lines[1:]:
            row = line.split(",")
            is_whole = len(row) == len(cls.COLUMNS) and row[0].isdigit() and "\0" not in line
            if not is_whole or not (int(rows[-1][0]) if rows else 0) < int(row[0]) <= steps:
                break
            rows.append(row)
        return rows

    def sync(self) -> None:
        """Return when the rows would survive a loss of power."""
        os.fsync(self._file.fileno())

    def add(self, step: int, loss: float, held_out: float | None, speed: float) -> None:
        """Append a row and flush it."""
        self._writer.writerow([step, repr(loss), "" if held_out is None else repr(held_out), f"{speed:.0f}"])
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def compile_session(
    config: cs336.TransformerConfig, optimizer: cs336.Optimizer, device: str, threads: int
) -> cs336.Session:
    """Build and compile the training program, and load it."""
    begin = time.perf_counter()
    executable = cs336.compile(cs336.build(config, mode="train", optimizer=optimizer), device=device)
    session = cs336.Session(executable, device=device, num_threads=threads)
    print(
        f"{config.parameter_count():,} parameters; compiled for {device} in {time.perf_counter() - begin:.1f} s; "
        f"{session.allocated_bytes / 2**20:.0f} MiB",
        flush=True,
    )
    return session


def check_overwrite(a: argparse.Namespace) -> None:
    """Refuse to replace a checkpoint unasked."""
    checkpoint = a.out / "checkpoint.safetensors"
    if checkpoint.exists() and not (a.resume or a.overwrite):
        raise FileExistsError(
            f"{checkpoint} is there already: --resume goes on from it, --overwrite deletes it and starts anew, "
            "another --out keeps both"
        )


def start_or_resume(session: cs336.Session, a: argparse.Namespace, run: dict[str, Any]) -> int:
    """Fill the session; return how many steps are done.

    Raises
    ------
    ValueError
        If the checkpoint is from a run of other settings.
    """
    config_path, checkpoint = a.out / "config.json", a.out / "checkpoint.safetensors"
    if a.resume and checkpoint.exists():
        saved = json.loads(config_path.read_text())
        different = sorted(key for key in run if saved.get(key) != run[key])
        if different:
            raise ValueError(
                f"{config_path}: the run to resume has other settings of {', '.join(different)}; give the same flags"
            )
        session.load(checkpoint)
        return int(session["adamw.step"])
    a.out.mkdir(parents=True, exist_ok=True)
    # First, so that no checkpoint ever lies beside the settings of another run.
    checkpoint.unlink(missing_ok=True)
    cs336.write_file(config_path, (json.dumps(run, indent=2) + "\n").encode())
    session.initialize(a.seed)
    return 0


def train(
    session: cs336.Session, text: Text, config: cs336.TransformerConfig, a: argparse.Namespace, run: dict[str, Any]
) -> None:
    """Take the steps that are left, reporting, recording and saving."""
    done = start_or_resume(session, a, run)
    if done:
        print(f"resuming after step {done}", flush=True)
    curve = Curve(a.out / "curve.csv", done)
    tokens_per_step = config.batch_size * config.context_length
    terminal = sys.stdout.isatty()
    try:
        for step in range(done + 1, a.steps + 1):
            begin = time.perf_counter()
            loss = float(session.run("train", training_batch(text, config, a.seed, step))["loss"])
            speed = tokens_per_step / (time.perf_counter() - begin)
            if not math.isfinite(loss):
                raise FloatingPointError(f"the loss of step {step} is {loss}; try a smaller --lr or --max-norm 1")
            report = step % a.eval_every == 0 or step in (1, a.steps)
            held_out = held_out_loss(session, text, config, a.eval_batches) if report else None
            curve.add(step, loss, held_out, speed)
            line = f"step {step}/{a.steps}  loss {loss:.4f}"
            if held_out is not None:
                print(f"\r{line}  held-out {held_out:.4f}  {speed:,.0f} tokens/s", flush=True)
            elif terminal:
                print(f"\r{line}  {speed:,.0f} tokens/s ", end="", flush=True)
            if step % a.checkpoint_every == 0 or step == a.steps:
                curve.sync()  # A checkpoint is never ahead of its curve.
                session.save(a.out / "checkpoint.safetensors")
    finally:
        curve.close()


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA", help="folder of prepare_text.py, or any file")
    parser.add_argument("--out", type=Path, default=Path("run"), help="folder for the results (default: run)")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out, if there is one")
    start.add_argument("--overwrite", action="store_true", help="delete the checkpoint in --out, if there is one")
    model = parser.add_argument_group("model")
    model.add_argument("--size", help="a named size, which the other flags then change")
    for name in ("d-model", "d-ff", "num-layers", "num-heads", "context-length", "batch-size"):
        model.add_argument(f"--{name}", type=int)
    training = parser.add_argument_group("training")
    training.add_argument("--steps", type=int, default=1000)
    training.add_argument("--lr", type=float, default=1e-3, help="highest learning rate")
    training.add_argument("--min-lr", type=float, default=1e-4, help="learning rate at the end")
    training.add_argument("--warmup-steps", type=int, default=20)
    training.add_argument("--weight-decay", type=float, default=0.1)
    training.add_argument("--max-norm", type=float, default=1.0, help="gradient clipping; 0 for none")
    training.add_argument("--seed", type=int, default=0)
    training.add_argument("--device", default=cs336.best_device(), help="cpu or cuda (default here: %(default)s)")
    training.add_argument("--threads", type=int, default=0, help="on the CPU; 0 takes all cores")
    training.add_argument("--eval-every", type=int, default=50, help="steps between held-out losses")
    training.add_argument("--eval-batches", type=int, default=4)
    training.add_argument("--checkpoint-every", type=int, default=100)
    sampling = parser.add_argument_group("sampling")
    sampling.add_argument("--prompt", default="And ", help="how the sampled text begins")
    sampling.add_argument("--sample-tokens", type=int, default=120, help="0 for no sample")
    sampling.add_argument("--temperature", type=float, default=0.8)
    sampling.add_argument("--top-p", type=float, default=0.9)
    a = parser.parse_args(arguments)
    for name in ("steps", "eval_every", "eval_batches", "checkpoint_every"):
        if getattr(a, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    for name in ("warmup_steps", "seed", "threads", "sample_tokens"):
        if getattr(a, name) < 0:
            parser.error(f"--{name.replace('_', '-')} is {getattr(a, name)}, must not be negative")
    for name in ("lr", "min_lr", "weight_decay", "max_norm", "temperature"):
        value = getattr(a, name)
        if not (math.isfinite(value) and value >= 0):
            parser.error(f"--{name.replace('_', '-')} is {value}, must be a finite number that is not negative")
    if not 0 < a.top_p <= 1:
        parser.error(f"--top-p is {a.top_p}, must lie in (0, 1]")
    return a


def model_config(a: argparse.Namespace, vocab_size: int) -> cs336.TransformerConfig:
    """The configuration of the flags; without a size, a model that two cores train in minutes."""
    base = {"context_length": 128, "batch_size": 8}
    if a.size is None:
        base |= {"d_model": 128, "d_ff": 512, "num_layers": 2, "num_heads": 4}
    given = {
        key: getattr(a, key) for key in ("d_model", "d_ff", "num_layers", "num_heads", "context_length", "batch_size")
    }
    chosen = base | {key: value for key, value in given.items() if value is not None} | {"vocab_size": vocab_size}
    return cs336.TransformerConfig.named(a.size, **chosen) if a.size else cs336.TransformerConfig(**chosen)


def main(arguments: list[str] | None = None) -> int:
    a = parse_arguments(arguments)
    try:
        check_overwrite(a)
        text = open_text(a.data)
        config = model_config(a, text.vocab_size)
        shortest = min(text.train.size, text.held_out.size)
        if shortest <= config.context_length:
            raise ValueError(f"{a.data}: a part has {shortest} tokens, a context needs {config.context_length + 1}")
        optimizer = cs336.Optimizer(
            lr=a.lr,
            min_lr=a.min_lr,
            warmup_steps=a.warmup_steps,
            cosine_steps=max(a.steps, a.warmup_steps + 1),
            beta2=0.95,
            weight_decay=a.weight_decay,
            max_norm=a.max_norm,
        )
        run = {
            "data": str(a.data.resolve()),
            "model": asdict(config),
            "optimizer": asdict(optimizer),
            "steps": a.steps,
            "seed": a.seed,
            "eval_every": a.eval_every,
            "eval_batches": a.eval_batches,
        }
        session = compile_session(config, optimizer, a.device, a.threads)
        train(session, text, config, a, run)
        if a.sample_tokens > 0:
            sample = write_text(session, text, config, a)
            cs336.write_file(a.out / "sample.txt", (sample + "\n").encode())
            print(f"--- sample ---\n{sample}\n--------------")
    except (OSError, ValueError, RuntimeError, MemoryError, FloatingPointError) as error:
        print(f"train_text: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; --resume goes on from the last checkpoint", file=sys.stderr)
        return 130
    print(
        f"next: look at {a.out / 'curve.csv'}; train_text.py --resume … goes on from {a.out / 'checkpoint.safetensors'}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
