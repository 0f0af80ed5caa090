"""Tools without enough memory: an error and no output.

No signal ends cs336-opt and cs336-run once main has begun. cs336-translate also runs LLVM's code generator, which uses
memory and stack without checking for it: a signal may end it, but never silently and never with an incomplete file.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from pathlib import Path

import cs336
import pytest

TOOLS = Path(cs336.__file__).parents[2] / "bin"
MIB = 1 << 20
LOADER_FAILED = 127
# LLVM's own error, in constructors that run before main can install a handler. It needs a limit within 4 MiB.
BEFORE_MAIN = "LLVM ERROR: out of memory\nBuffer allocation failed\n"


def run(command: list[str | Path], folder: Path, mebibytes: int) -> subprocess.CompletedProcess[str]:
    """Run with a limit on the address space, and an empty cache."""
    limit = mebibytes * MIB
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env=os.environ | {"CS336_CACHE_DIR": str(folder / f"cache-{mebibytes}"), "OMP_NUM_THREADS": "2"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        check=False,
    )


@pytest.mark.parametrize("tool", ["cs336-opt", "cs336-run", "cs336-translate"])
def test_exhausted_memory_is_an_error(tool: str, tmp_path: Path) -> None:
    program, executable, output = (tmp_path / name for name in ("model.mlir", "model.cs336x", "output.npz"))
    config = cs336.TransformerConfig(16, 32, 1, 2, vocab_size=16, context_length=8, batch_size=1)
    module = cs336.build(config, "train")
    program.write_text(str(module))
    cs336.compile(module).save(executable)
    command: list[str | Path] = [TOOLS / tool, program, "-o", output]
    if tool == "cs336-run":
        command = [TOOLS / tool, executable, "--random-inputs", "--outputs", output]
    allowed = {0, 1, LOADER_FAILED}
    if tool == "cs336-translate":
        command = [TOOLS / tool, "--emit-executable", program, "-o", output]
        allowed |= {-signal.SIGSEGV, -signal.SIGABRT}
    enough = 64
    while run(command, tmp_path, enough).returncode != 0:
        enough *= 2
    expected = output.read_bytes()
    outcomes = set()
    for mebibytes in range(enough // 2, enough, enough // 16):
        output.unlink(missing_ok=True)
        done = run(command, tmp_path, mebibytes)
        outcomes.add(done.returncode)
        if done.returncode == -signal.SIGABRT and done.stderr == BEFORE_MAIN:
            continue
        assert done.returncode in allowed, (mebibytes, done.returncode, done.stderr)
        assert done.returncode == 0 or done.stderr, mebibytes
        assert output.exists() == (done.returncode == 0), mebibytes
        if output.exists() and tool == "cs336-translate":
            assert output.read_bytes() == expected, mebibytes
        assert not list(tmp_path.glob("*.tmp")), mebibytes
        if done.returncode == 1:
            assert "error: " in done.stderr, mebibytes
            assert "Stack dump" not in done.stderr, mebibytes
    assert outcomes
