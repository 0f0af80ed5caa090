"""Runs every example before and after every pass, without other optional passes, and compares outputs and parameters.

A small Transformer is among them: it has layers for checkpoints, and tables that depend on no input.

examples_by_pass.py EXAMPLES FOLDER
"""

import json
import pathlib
import struct
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Python"))
from comparison import relative_error
from pass_pipelines import NO_OTHERS, flags_of, pass_names, rounds, run_passes

examples, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)


def read(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Read a safetensors file as float64. NumPy has no bfloat16, which is the upper half of a float32."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    types = {"F32": np.float32, "BF16": np.uint16, "I64": np.int64}
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        value = np.frombuffer(data[begin:end], types[entry["dtype"]]).reshape(entry["shape"])
        if entry["dtype"] == "BF16":
            value = (value.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = value.astype(np.float64)
    return tensors


def run(program: pathlib.Path, name: str, *flags: str) -> dict[str, np.ndarray]:
    """Return outputs, and parameters after the step."""
    files = {key: folder / f"{name}.{key}.safetensors" for key in ("outputs", "params")}
    command = ["cs336-run", str(program), "--random-inputs", "--seed", "3", *flags]
    command += ["--fusion", "none", "--pipeline-options", NO_OTHERS]
    command += ["--outputs", str(files["outputs"]), "--save-params", str(files["params"])]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return {f"{key} {tensor}": value for key, path in files.items() for tensor, value in read(path).items()}


transformer = folder / "transformer.mlir"
command = ["cs336-translate", "--import-transformer", "--size", "tiny", "--context-length", "8", "--mode", "train"]
subprocess.run([*command, "-o", str(transformer)], check=True)

count = 0
# Passes that have not changed a program yet.
idle = set(pass_names())
for example in [*sorted(examples.glob("*.mlir")), transformer]:
    run(example, f"{example.stem}.start")
    start = ["--params", str(folder / f"{example.stem}.start.params.safetensors")]
    expected = run(example, f"{example.stem}.before", *start)
    for name in pass_names():
        changed = folder / f"{example.stem}.{name}.mlir"
        *required, flag = flags_of(name)
        before = run_passes(example.read_text(), *required)
        changed.write_text(run_passes(before, flag))
        if changed.read_text() != before:
            idle.discard(name)
        actual = run(changed, f"{example.stem}.{name}", *start)
        assert set(actual) == set(expected), (example, name)
        for tensor, value in expected.items():
            # AdamW's first step follows the sign of a gradient, even if it has few exact digits.
            if rounds(name) and tensor.startswith("params"):
                continue
            # A loss that is a sum of both signs has fewer exact digits than its terms.
            error, bound = relative_error(actual[tensor], value), 0.15 if rounds(name) else 1e-4
            assert error <= bound, f"{example.name} after {name}: {tensor} differs by {error:.1e}"
        count += 1
# All of these name their ports, their indices have bounds, and one rank runs them.
assert idle <= {"cs336-bound-indices", "cs336-distribute", "cs336-name-ports"}, f"nothing is changed by {idle}"
print(f"{count} programs compute the same")
