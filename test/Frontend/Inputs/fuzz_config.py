"""Feeds damaged descriptions to cs336-translate: each must end with a message, or be accepted, and never crash."""

import json
import random
import subprocess
import sys

VALID = {
    "size": "tiny",
    "context_length": 4,
    "vocab_size": 8,
    "num_layers": 1,
    "optimizer": {"form": "pytorch", "lr": 1e-3, "warmup_steps": 2, "cosine_steps": 9},
}
PIECES = [b"{", b"}", b"[", b"]", b'"', b"\\", b"\\ud800", b"-", b"1e999", b"9" * 30, b"null", b"\xff", b"\x00", b","]


def damage(text: bytes, generator: random.Random) -> bytes:
    """Replaces, inserts or drops a few bytes."""
    for _ in range(generator.randint(1, 3)):
        at = generator.randrange(len(text) + 1)
        drop = generator.randint(0, 2)
        text = text[:at] + generator.choice([*PIECES, b"", b" ", b"7"]) + text[at + drop :]
    return text


def main() -> None:
    generator = random.Random(0)
    outcomes = {0: 0, 1: 0}
    for _ in range(150):
        text = damage(json.dumps(VALID).encode(), generator)
        process = subprocess.run(
            ["cs336-translate", "--import-transformer", "-", "-o", "/dev/null"],
            input=text,
            capture_output=True,
            timeout=20,
            check=False,
        )
        if process.returncode not in outcomes or (process.returncode == 1 and b"error: " not in process.stderr):
            sys.exit(f"exit status {process.returncode} for {text!r}:\n{process.stderr.decode(errors='replace')}")
        outcomes[process.returncode] += 1
    print(f"accepted {outcomes[0]}, refused {outcomes[1]}")


if __name__ == "__main__":
    main()
