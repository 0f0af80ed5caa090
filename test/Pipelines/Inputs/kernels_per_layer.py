"""Prints the commands that one more layer adds to each entry of exec IR: those of 3 layers minus those of 2."""

import pathlib
import re
import sys
from collections import Counter


def count_commands(path: str) -> dict[str, Counter[str]]:
    """Count commands by entry and kind."""
    entries: dict[str, Counter[str]] = {}
    entry: Counter[str] = Counter()
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if match := re.match(r"\s*exec\.entry @(\w+)", line):
            entry = entries.setdefault(match[1], Counter())
        elif match := re.match(r"\s*exec\.(launch|gemm|copy)\b", line):
            entry[match[1]] += 1
    return entries


fewer, more = (count_commands(path) for path in sys.argv[1:])
for name, commands in more.items():
    added = {kind: commands[kind] - fewer[name][kind] for kind in ("launch", "gemm", "copy")}
    print(f"{name}: {sum(added.values())} = " + " + ".join(f"{count} {kind}" for kind, count in added.items()))
