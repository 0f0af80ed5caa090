"""Invalid numbers are rejected where they are passed, with their name and value."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import cs336
import numpy as np
import pytest
import reference
from compiled_model import executable
from device import open_session
from safetensors.numpy import load_file, save_file

CONFIG = reference.Config(31, 8, 16, 2, 2, 24, batch_size=2)
SIZES = {"d_model": 16, "d_ff": 24, "num_layers": 2, "num_heads": 2}
TRAIN_TEXT = Path(__file__).resolve().parents[2] / "examples" / "train_text.py"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_configs_name_the_number_that_is_not_finite(value: float) -> None:
    with pytest.raises(ValueError, match=f"'rope_theta' must be a finite number, is {value}"):
        cs336.TransformerConfig(**SIZES, rope_theta=value)
    with pytest.raises(ValueError, match=f"'rope_theta' must be a finite number, is {value}"):
        cs336.TransformerConfig.named("tiny", rope_theta=value)
    config = cs336.TransformerConfig(**SIZES)
    with pytest.raises(ValueError, match=f"'rope_theta' must be a finite number, is {value}"):
        cs336.TransformerConfig.named("tiny", rope_theta=np.float32(value))
    with pytest.raises(ValueError, match=f"'optimizer.lr' must be a finite number, is {value}"):
        cs336.build(config, optimizer=cs336.Optimizer(lr=value))


def test_optimizers_name_the_field_that_is_wrong() -> None:
    config = cs336.TransformerConfig(**SIZES)
    for field, value in (("warmup_steps", -1), ("cosine_steps", -5), ("min_lr", -1.0), ("weight_decay", -0.5)):
        with pytest.raises(ValueError, match=f"{field} must (be finite and )?not (be )?negative, is -"):
            cs336.build(config, optimizer=cs336.Optimizer(**{field: value}))


def test_descriptions_name_a_key_that_stands_twice() -> None:
    text = json.dumps(SIZES)
    assert cs336.TransformerConfig.from_json("\ufeff" + text) == cs336.TransformerConfig(**SIZES)
    with pytest.raises(ValueError, match="the key 'd_ff' occurs twice"):
        cs336.TransformerConfig.from_json(text[:-1] + ', "d_ff": 32}')


@pytest.mark.parametrize("step", [-5, -(2**63), 2**63 - 1])
def test_a_step_counter_cannot_be_negative(step: int, tmp_path: Path) -> None:
    session = open_session(executable(CONFIG, "train", "f32", reference.Optimizer()))
    session.initialize(0)
    with pytest.raises(ValueError, match=f"variable 'adamw.step' counts, and cannot be {step}"):
        session["adamw.step"] = np.int64(step)
    path = tmp_path / "checkpoint.safetensors"
    session.save(path)
    save_file({**load_file(path), "adamw.step": np.array(step)}, path)
    with pytest.raises(ValueError, match=f"variable 'adamw.step' counts, and cannot be {step}"):
        session.load(path)
    assert session["adamw.step"] == 0


def test_an_option_is_given_once() -> None:
    module = cs336.build(cs336.TransformerConfig(**SIZES), "forward")
    with pytest.raises(ValueError, match="fusion='none' conflicts with 'fusion=all' in pipeline"):
        cs336.compile(module, "merge-gemms=false fusion=all", fusion="none")
    with pytest.raises(ValueError, match="checkpoint=0 conflicts with 'checkpoint=1' in pipeline"):
        cs336.compile(module, "checkpoint=1", checkpoint=0)


def test_ir_that_nests_too_deeply_is_refused() -> None:
    with pytest.raises(ValueError, match=r"deep\.mlir:129:\d+: nested deeper than 256 levels"):
        cs336.parse('"x.x"() ({\n' * 20000, "deep.mlir")
    module = cs336.build(cs336.TransformerConfig(**SIZES), "forward")
    with pytest.raises(ValueError, match=r"pipeline:1:\d+: nested deeper than 256 levels"):
        module.run_passes("builtin.module(" * 20000 + ")" * 20000)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--lr", "nan"], "--lr is nan, must be a finite number"),
        (["--weight-decay", "inf"], "--weight-decay is inf, must be a finite number"),
        (["--temperature", "nan"], "--temperature is nan, must be a finite number"),
        (["--top-p", "nan"], "--top-p is nan, must be in (0, 1]"),
        (["--warmup-steps=-1"], "--warmup-steps is -1, must not be negative"),
        (["--sample-tokens=-1"], "--sample-tokens is -1, must not be negative"),
        (["--seed=-1"], "--seed is -1, must not be negative"),
    ],
)
def test_training_flags_are_checked_by_name(flags: list[str], message: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(cs336.__file__).parents[1])}
    command = [sys.executable, TRAIN_TEXT, "none", *flags]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert message in run.stderr
