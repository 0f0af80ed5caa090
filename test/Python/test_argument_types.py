"""Objects of the wrong type get a TypeError that names the argument and what to pass instead."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cs336
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG = cs336.TransformerConfig(16, 32, 1, 2, vocab_size=16, context_length=8, batch_size=1)
TOKENS = np.zeros((1, 8), np.int64)


@pytest.fixture(scope="module")
def session() -> cs336.Session:
    opened = cs336.Session(cs336.compile(cs336.build(CONFIG, "loss")))
    opened.initialize(0)
    return opened


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cs336.compile(CONFIG), r"the module to compile must be of type Module or str, is of type "
         r"TransformerConfig: build it first, cs336.compile\(cs336.build\(config\)\)"),
        (lambda: cs336.compile(cs336.compile(cs336.build(CONFIG, "loss"))), "it is already compiled"),
        (lambda: cs336.compile(ROOT / "model.mlir"), r"pass the file's text, cs336.compile\(path.read_text\(\)\)"),
        (lambda: cs336.compile(None), "is of type NoneType: create one with cs336.build or cs336.parse"),
        (lambda: cs336.Session(cs336.build(CONFIG)), r"compile it first, cs336.Session\(cs336.compile\(module\)\)"),
        (lambda: cs336.Session("model.cs336x"), r"load it first, cs336.Session\(cs336.Executable.load\(path\)\)"),
        (lambda: cs336.Session(3), "must be of type Executable, is of type int: create one with cs336.compile"),
        (lambda: cs336.build({"d_model": 16}), r"pass cs336.TransformerConfig\(\*\*config\)"),
        (lambda: cs336.build("small"), r"cs336.TransformerConfig.named\(size\)"),
        (lambda: cs336.build(CONFIG, optimizer={"lr": 1.0}), r"pass cs336.Optimizer\(\*\*optimizer\)"),
        (lambda: cs336.TransformerConfig(32.0, 32, 1, 2), "'d_model' must be an integer, is 32.0"),
        (lambda: cs336.TransformerConfig(16, 2.5, 1, 2), "'d_ff' must be an integer, is 2.5"),
        (lambda: cs336.TransformerConfig(32, "64", 1, 2), "'d_ff' must be an integer, is '64'"),
        (lambda: cs336.Optimizer(warmup_steps=0.5), "'warmup_steps' must be an integer, is 0.5"),
        (lambda: cs336.TransformerConfig.named("tiny", contxt=3), "TransformerConfig has no contxt; it has d_model, "
         "d_ff, num_layers, num_heads, vocab_size, context_length, batch_size, rope_theta"),
    ],
)  # fmt: skip
def test_wrong_objects(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"architectures": "sm_80"}, "architectures must be a list of names, is the string 'sm_80': pass ['sm_80']"),
        ({"architectures": 80}, "architectures must be a list of names, is 80"),
        ({"architectures": [80]}, "each of architectures must be a string, is 80"),
        ({"pipeline": None}, "pipeline must be a string, is None"),
        ({"device": 0}, "device must be a string, is 0"),
        ({"checkpoint": "a"}, "checkpoint must be an integer, is 'a'"),
        ({"checkpoint": 1.0}, "checkpoint must be an integer, is 1.0"),
        ({"memory_budget": [1]}, "memory_budget is [1], must be a size such as '30GiB', or 'auto'"),
        ({"ranks": "2", "distribute": "flat"}, "ranks must be an integer, is '2'"),
        ({"ranks": 2, "distribute": "bucket", "bucket_mib": [1]}, "bucket_mib is [1], must be above 0 and finite"),
    ],
)
def test_wrong_options_of_compile(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        cs336.compile(cs336.build(CONFIG, "loss"), **{"device": "cuda"} | arguments)


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([TOKENS, TOKENS], None, "the inputs of a run must be of type Mapping, is of type list: pass a dict of arrays"),
        (None, None, "is of type NoneType: pass a dict of arrays by name"),
        ({}, "loss", re.escape("outputs must be a list of names, is the string 'loss': pass ['loss']")),
        ({}, 3, "outputs must be a list of names, is 3"),
        ({}, [3], "each of outputs must be a string, is 3"),
    ],
)
def test_wrong_arguments_of_runs(session: cs336.Session, inputs: object, outputs: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        session.run("loss", inputs, outputs)


def test_wrong_seeds(session: cs336.Session) -> None:
    with pytest.raises(TypeError, match=r"the seed must be an integer, is 1\.5"):
        session.initialize(1.5)


def test_integers_of_numpy() -> None:
    config = cs336.TransformerConfig(*np.array([16, 32, 1, 2]), vocab_size=np.int32(16))
    assert config == cs336.TransformerConfig(16, 32, 1, 2, vocab_size=16)
    assert type(config.d_model) is int
    assert cs336.Optimizer(warmup_steps=np.int64(3), cosine_steps=4).warmup_steps == 3


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "python-bindings/pyproject.toml").read_text())["project"]
    cmake = re.search(r"^project\(cs336-opt VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert cmake is not None
    assert cs336.__version__ == project["version"] == cmake[1]
