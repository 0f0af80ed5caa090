"""Train in forked processes, in each of which one call on a file fails. Must run with the library preloaded.

Prints, as JSON, the result for every function, kind of fault and number of the call.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import cs336

FAULTS = {"fail": 1, "short": 2, "kill": 3}
# A run that is killed before a call without effect equals one that is killed before the next call with an effect.
KINDS = {
    "open": ("fail", "kill"),
    "write": ("fail", "short", "kill"),
    "fsync": ("fail", "kill"),
    "rename": ("fail", "kill"),
    "unlink": ("fail", "kill"),
    "flock": ("fail",),
    "pread": ("fail", "short"),
}
MODEL = "--d-model 8 --d-ff 16 --num-layers 1 --num-heads 2 --context-length 8 --batch-size 1".split()
FLAGS = [*MODEL, *"--steps 2 --checkpoint-every 1 --eval-every 2 --eval-batches 1 --sample-tokens 1".split()]
FLAGS += ["--threads", "1", "--device", "cpu"]


def contents(folder: Path) -> dict[str, str]:
    """Return the curve's text, and size and hash of every other file, by name."""
    files = {}
    for path in sorted(folder.iterdir()) if folder.exists() else []:
        data = path.read_bytes()
        is_curve = path.name == "curve.csv"
        files[path.name] = data.decode() if is_curve else f"{len(data)} {hashlib.sha256(data).hexdigest()}"
    return files


def state(files: dict[str, str]) -> str:
    """Return the parts of the files that a resumed run reads: neither speeds nor the random parts of names."""
    names = sorted(re.sub(r"[0-9a-f]{16}", "", name) for name in files)
    curve = re.sub(r",\d+\n", "\n", files.get("curve.csv", ""))
    return repr((names, curve, files.get("checkpoint.safetensors"), files.get("config.json")))


class Trainer:
    """Run `train_text.py` in a child process."""

    def __init__(self, script: Path, data: Path, library: Path) -> None:
        self.script = runpy.run_path(str(script))
        self.data = data
        self.library = ctypes.CDLL(str(library))
        self.compiled: dict[str, cs336.Executable] = {}
        compile_program = cs336.compile

        def compile_once(module: cs336.Module, **options: Any) -> cs336.Executable:
            text = str(module)
            if text not in self.compiled:
                self.compiled[text] = compile_program(module, **options)
            return self.compiled[text]

        cs336.compile = compile_once

    def compile(self) -> None:
        """Compile the program of all children. A session would have threads, which a fork loses."""
        a = self.script["parse_arguments"]([str(self.data), *FLAGS])
        optimizers: list[Any] = []

        def keep(config: Any, optimizer: Any, *_: Any) -> None:
            optimizers.extend((config, optimizer))
            raise ValueError("stop")

        original = self.script["main"].__globals__["compile_session"]
        self.script["main"].__globals__["compile_session"] = keep
        self.script["main"]([str(self.data), *FLAGS, "--out", str(a.out)])
        self.script["main"].__globals__["compile_session"] = original
        config, optimizer = optimizers
        cs336.compile(cs336.build(config, mode="train", optimizer=optimizer), device="cpu")

    def run(self, out: Path, log: Path, flags: list[str], fault: tuple[str, int, str] | None = None) -> dict[str, Any]:
        """Train in a child. Return how it ended, its standard error, and the number of calls it made."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            with log.open("wb") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            if fault:
                name, number, kind = fault
                self.library.cs336_inject_fault(name.encode(), number, FAULTS[kind], os.fsencode(out))
            code = 99
            try:
                code = self.script["main"]([str(self.data), *FLAGS, "--out", str(out), *flags])
            finally:
                sys.stderr.flush()
                os.write(writer, str(self.library.cs336_count_calls()).encode())
                os._exit(code)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            calls = pipe.read()
        _, status = os.waitpid(child, 0)
        return {"status": status, "calls": int(calls or 0), "output": log.read_text(errors="replace")}


def main() -> None:
    script, data, library, folder = (Path(argument) for argument in sys.argv[1:])
    trainer = Trainer(script, data, library)
    trainer.compile()
    log, out, begin = folder / "log", folder / "out", folder / "begin"
    whole = folder / "whole"
    reference = trainer.run(whole, log, [])
    # A run that was stopped after its first checkpoint.
    session_run, count = cs336.Session.run, 0

    def stop(session: cs336.Session, entry: str, inputs: Any) -> Any:
        nonlocal count
        count += entry == "train"
        if count == 2:
            raise KeyboardInterrupt
        return session_run(session, entry, inputs)

    cs336.Session.run = stop
    stopped = trainer.run(begin, log, [])
    cs336.Session.run = session_run
    results = []
    resumed: dict[str, tuple[dict[str, Any], dict[str, str]]] = {}
    for start in ("new", "resumed"):
        for function, kinds in KINDS.items():
            for kind in kinds:
                if (start, kind) == ("new", "short"):
                    continue  # The resumed run makes the same calls.
                number, injected = 0, True
                while injected:
                    number += 1
                    shutil.rmtree(out, ignore_errors=True)
                    if start == "resumed":
                        shutil.copytree(begin, out)
                    ended = trainer.run(out, log, ["--resume"], (function, number, kind))
                    injected = ended["status"] == 9 or ended["calls"] >= number
                    after = contents(out)
                    if state(after) not in resumed:
                        resumed[state(after)] = trainer.run(out, log, ["--resume"]), contents(out)
                    again, final = resumed[state(after)]
                    results.append(
                        {"start": start, "function": function, "kind": kind, "number": number, "ended": ended}
                        | {"injected": injected, "after": after, "again": again, "final": final}
                    )
    record = {"reference": reference, "stopped": stopped, "whole": contents(whole), "begin": contents(begin)}
    (folder / "results.json").write_text(json.dumps(record | {"results": results}))


if __name__ == "__main__":
    main()
