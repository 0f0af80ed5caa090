"""Every tool and the Python package reject an unknown value with a list of the known ones."""

from __future__ import annotations

import subprocess

import cs336
import pytest

DTYPES = "unknown dtype 'odd': expected fp32, tf32, bf16 or fp16"
FUSIONS = "unknown fusion 'odd': expected none, elementwise, softmax, flash or all"
DEVICES = "unknown device 'odd': expected cpu, cuda or cuda:N"
EXCHANGES = "unknown exchange 'odd': expected auto, nccl or peers"
SIZES = "unknown size 'odd': expected small, medium, large, xl, 2.7B, 2.35B, 10B or tiny"
MODES = "unknown mode 'odd': expected forward, loss, forward_backward or train"
FORMATS = "unknown format 'odd': expected table, markdown, latex, typst, html, csv or json"
IMPORT = ["cs336-translate", "--import-transformer"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["cs336-run", "x.mlir", "--dtype", "odd"], DTYPES),
        (["cs336-translate", "--emit-executable", "x.mlir", "--dtype=odd"], DTYPES),
        (["cs336-bench", "model", "--dtype", "fp32,odd"], DTYPES),
        (["cs336-bench", "plan", "--fusion", "odd"], FUSIONS),
        (["cs336-run", "x.mlir", "--fusion", "odd"], FUSIONS),
        (["cs336-run", "x.mlir", "--device", "odd"], DEVICES),
        (["cs336-run", "x.mlir", "--exchange", "odd"], EXCHANGES),
        (["cs336-bench", "ddp", "--exchange", "odd"], EXCHANGES),
        (["cs336-bench", "accumulate", "--device", "odd"], DEVICES),
        ([*IMPORT, "--size", "odd"], SIZES),
        (["cs336-bench", "model", "--size", "small,odd"], SIZES),
        ([*IMPORT, "--size", "tiny", "--mode", "odd"], MODES),
        ([*IMPORT, "--size", "tiny", "--build-dtype", "odd"], "unknown dtype 'odd': expected f32 or f64"),
        (
            [*IMPORT, "--size", "tiny", "--adamw-form", "odd"],
            "unknown optimizer.form 'odd': expected pytorch, cs336_2025 or cs336_2026",
        ),
        (["cs336-bench", "model", "--format", "odd"], FORMATS),
        (["cs336-bench", "doctor", "--format", "odd"], FORMATS),
        (["cs336-bench", "attention", "--mask", "odd"], "unknown mask 'odd': expected full or causal"),
        (["cs336-bench", "attention", "--part", "odd"], "unknown part 'odd': expected whole or scores"),
        (["cs336-bench", "attention", "--peer", "odd"], "unknown --peer 'odd': expected torch, or torch:"),
        (["cs336-bench", "model", "--size", "tiny", "--peer", "torch:odd"], "with commas of eager, primitive, sdpa,"),
        (["cs336-bench", "study", "odd"], "others: cs336-bench study --list lists them"),
        (["cs336-bench", "odd"], "unknown command 'odd': expected model, attention, allreduce, ddp, plan, "),
        (
            ["cs336-bench", "plan", "--size", "tiny", "--pipeline-options", "mode=odd"],
            "unknown mode 'odd': expected forward, loss or forward_backward",
        ),
        (
            ["cs336-bench", "plan", "--size", "tiny", "--pipeline-options", "odd=1"],
            "unknown option 'odd': expected bucket-mib",
        ),
        (["cs336-opt", "--cs336-pipeline=dtype=odd"], DTYPES),
        (["cs336-opt", "--cs336-pipeline=target=odd"], "unknown target 'odd': expected cpu or cuda"),
        (["cs336-opt", "--cs336-optimizer=kind=odd"], "unknown kind 'odd': expected adamw"),
        (["cs336-opt", "--cs336-autocast=dtype=odd"], "unknown dtype 'odd': expected bf16, fp16 or tf32"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_tools_list_the_known_values(command: list[str], message: str) -> None:
    process = subprocess.run(command, input="", capture_output=True, text=True)
    assert process.returncode != 0
    assert message in process.stderr


def test_a_description_lists_the_known_values() -> None:
    for text, message in (
        ('{"size": "odd"}', SIZES),
        ('{"size": "tiny", "mode": "odd"}', MODES),
        ('{"size": "tiny", "odd": 1}', "unknown key 'odd': expected size, vocab_size, "),
        ('{"size": "tiny", "optimizer": {"odd": 1}}', "unknown key 'optimizer.odd': expected form, lr, "),
    ):
        with pytest.raises(ValueError, match=message.replace(".", r"\.")):
            cs336.TransformerConfig.from_json(text)


def test_python_lists_the_known_values() -> None:
    module = cs336.build(cs336.TransformerConfig(16, 24, 1, 2), "forward")
    for arguments, message in (
        ({"dtype": "odd"}, DTYPES),
        ({"fusion": "odd"}, FUSIONS),
        ({"device": "odd"}, DEVICES),
        ({"pipeline": "fusion=odd"}, FUSIONS),
        ({"pipeline": "odd=1"}, "unknown option 'odd': expected bucket-mib, checkpoint, distribute, dtype, "),
    ):
        with pytest.raises(ValueError, match=message):
            cs336.compile(module, **arguments)
    with pytest.raises(ValueError, match=MODES):
        cs336.build(cs336.TransformerConfig(16, 24, 1, 2), "odd")
    executable = cs336.compile(cs336.build(cs336.TransformerConfig(16, 24, 1, 2), "forward"))
    with pytest.raises(ValueError, match=EXCHANGES):
        cs336.Session(executable, exchange="odd")
    with pytest.raises(ValueError, match="exchange is nccl, which has no effect on the CPU"):
        cs336.Session(executable, exchange="nccl")
