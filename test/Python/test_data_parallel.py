"""Steps on several ranks with disjoint batches are steps of one rank with the whole batch."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import cs336
import ml_dtypes
import numpy as np
import pytest
import reference
from compiled_model import optimizer, transformer_config
from device import DEVICE
from rank_runs import Tensors, assert_ranks_equal, draw_batch, draw_parameters, run_ranks, split_batch
from test_adamw import optimizer_attribute, sum_of_products

pytestmark = pytest.mark.skipif(DEVICE != "cpu", reason="ranks are threads of one process, on the CPU")

MODES = ("per-parameter", "flat", "overlap", "bucket", "zero1", "fsdp")
BATCH = 8
LR = 1e-3
CASES = [(dtype, ranks) for dtype in ("fp32", "tf32", "bf16", "fp16") for ranks in (2, 4)]
"""Types and numbers of ranks."""
NARROW = {"bf16": np.dtype(ml_dtypes.bfloat16), "fp16": np.dtype(np.float16)}
"""The types to which GEMMs round their results."""
ROUNDING = {"bf16": 2.0**-8, "fp16": 2.0**-11}
"""Half the distance of 1 to the next larger number."""
SUBNORMAL_ROUNDING = 2.0**-25
"""Half the smallest number of fp16 above 0."""


def config(batch: int) -> reference.Config:
    return reference.Config(61, 16, 32, 2, 2, 64, batch_size=batch)


def program(mode: str, ranks: int, max_norm: float = 0.0) -> cs336.Module:
    numbers = reference.Optimizer(lr=LR, max_norm=max_norm)
    return cs336.build(transformer_config(config(BATCH // ranks)), mode, optimizer=optimizer(numbers))


def parameters() -> Tensors:
    return draw_parameters(config(BATCH))


def batch() -> Tensors:
    return draw_batch(config(BATCH))


def run_alone(executable: cs336.Executable, entry: str, inputs: Tensors, steps: int = 1) -> Tensors:
    """Return the outputs of one rank, and the variables after the steps."""
    session = cs336.Session(executable, num_threads=1)
    session.initialize(0)
    session.set_parameters(parameters())
    for _ in range(steps):
        outputs = session.run(entry, inputs)
    return {**outputs, **{f"after {name}": session[name] for name in executable.variables}}


@cache
def gradients_alone(dtype: str, ranks: int) -> list[Tensors]:
    """Return the loss and the gradients that one rank has for each part of the batch."""
    executable = cs336.compile(program("forward_backward", ranks), dtype=dtype)
    outputs = executable.outputs("forward_backward")
    results = [run_alone(executable, "forward_backward", part) for part in split_batch(batch(), ranks)]
    return [{name: result[name] for name in outputs} for result in results]


def mean_of(dtype: str, name: str, parts: list[Any]) -> Any:
    """Return the mean as ranks compute it: sums in float32 and in the order of ranks, rounded to the type of parts."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    mean = total / np.float32(len(parts))
    comes_from_gemm = mean.ndim == 2 and name != "token_embeddings.weight"
    return mean.astype(NARROW[dtype]).astype(np.float32) if comes_from_gemm and dtype in NARROW else mean


def check_gradients(results: list[Tensors], dtype: str) -> None:
    """Assert that all ranks have the gradients of the whole batch.

    A gradient of all rows is the mean of the gradients of parts, but for the order of additions: in float32, less than
    1e-5 for gradients of about 1. GEMMs in bf16 and fp16 round their results. That is one relative error of 2^-8 or
    2^-11 for the whole batch, one for each part, and one for their mean, on top of the 1e-5. Gradients of activations
    add no difference: those of a part are those of the whole batch times the number of ranks, which is a power of 2.

    In fp16 they do, if they are below 2^-14: such numbers are subnormal, and the rounding error of each is up to 2^-25.
    The gradient of a matrix adds those of all tokens, times activations of about 1. The path from the loss to the first
    layer has about 8 results of GEMMs.
    """
    ranks = len(results)
    assert_ranks_equal(results)
    (whole,), parts = gradients_alone(dtype, 1), gradients_alone(dtype, ranks)
    for name, expected in whole.items():
        values = [part[name] for part in parts]
        actual = results[0][name]
        np.testing.assert_array_equal(actual, mean_of(dtype, name, values), err_msg=name)
        bound = np.full_like(expected, 1e-5, np.float64)
        if dtype in NARROW:
            bound += ROUNDING[dtype] * (np.abs(expected) + np.abs(actual) + np.mean(np.abs(values), axis=0))
        if dtype == "fp16":
            bound += 8 * batch()["tokens"].size * SUBNORMAL_ROUNDING
        difference = np.abs(actual.astype(np.float64) - expected)
        assert np.all(difference <= bound), f"{name}: {difference.max()}"


def run_gradients(folder: Path, executable: cs336.Executable, ranks: int) -> list[Tensors]:
    return run_ranks(folder, executable, split_batch(batch(), ranks), parameters())


@pytest.mark.parametrize(("dtype", "ranks"), CASES)
@pytest.mark.parametrize("mode", MODES)
def test_gradients_are_those_of_the_whole_batch(tmp_path: Path, mode: Any, dtype: Any, ranks: int) -> None:
    executable = cs336.compile(program("forward_backward", ranks), dtype=dtype, ranks=ranks, distribute=mode)
    assert executable.ranks == ranks
    check_gradients(run_gradients(tmp_path, executable, ranks), dtype)


@pytest.mark.parametrize("bucket_mib", [1e-6, 0.02, "auto"])
def test_size_of_buckets_does_not_change_gradients(tmp_path: Path, bucket_mib: float | str) -> None:
    executable = cs336.compile(
        program("forward_backward", 2), dtype="bf16", ranks=2, distribute="bucket", bucket_mib=bucket_mib
    )
    check_gradients(run_gradients(tmp_path, executable, 2), "bf16")


OPTIONS: dict[str, dict[str, Any]] = {
    "unfused": {"fusion": "none"},
    "elementwise": {"fusion": "elementwise"},
    "softmax": {"fusion": "softmax", "checkpoint": 1},
    "flash": {"fusion": "flash"},
    "all": {},
    "tf32": {"dtype": "tf32"},
    "bf16": {"dtype": "bf16", "checkpoint": 2},
    "fp16": {"dtype": "fp16"},
}


@cache
def steps_alone(name: str) -> Tensors:
    """Return the results of one rank after five steps with clipping on the whole batch."""
    return run_alone(cs336.compile(program("train", 1, max_norm=0.1), **OPTIONS[name]), "train", batch(), steps=5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OPTIONS)
def test_five_steps_train_like_one_rank(tmp_path: Path, name: str, mode: Any) -> None:
    """Compare losses, norms and parameters after five steps with clipping.

    AdamW divides a gradient by its own magnitude. Where a gradient is close to 0, its rounding error changes the update
    by up to 2·lr in every step, in any type; elsewhere by the relative error of the gradient.
    """
    options, alone = OPTIONS[name], steps_alone(name)
    executable = cs336.compile(program("train", 2, max_norm=0.1), ranks=2, distribute=mode, **options)
    results = run_ranks(tmp_path, executable, split_batch(batch(), 2), parameters(), steps=5)
    assert_ranks_equal(results)
    is_low = options.get("dtype") in ("bf16", "fp16")
    relative = 1e-2 if is_low else 1e-5
    for output in ("loss", "grad_norm"):
        np.testing.assert_allclose(results[0][output], alone[output], rtol=relative)
    assert alone["grad_norm"] > 0.1, "the gradients are clipped"
    names = [f"after {name}" for name in parameters()]
    differences = np.concatenate([np.abs(results[0][each] - alone[each]).ravel() for each in names])
    assert differences.max() <= 5 * 2 * LR
    assert np.quantile(differences, 0.95) <= (LR if is_low else 1e-5)
    assert results[0]["after adamw.step"] == 5


def test_overflow_of_one_rank_skips_the_step_of_all(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    sums = sum_of_products("f32", rng)
    attributes = f"cs336.optimizer = {optimizer_attribute(reference.Optimizer(lr=1e-2))}"
    attributes += ", cs336.loss_scaling = #cs336.loss_scaling<interval = 3>"
    train = "cs336.mode = #cs336.mode<train>"
    text = sums.text("train").replace(train, f"{train}, {attributes}")
    executable = cs336.compile(text, dtype="fp16", ranks=2, distribute="bucket")
    # The inputs are the gradients. 1e35 is finite, and 65536 times 1e35 is not.
    for bad in (np.inf, -np.inf, np.nan, 1e35, None):
        values = {name: rng.standard_normal(value.shape).astype(np.float32) for name, value in sums.inputs.items()}
        other = {name: value.copy() for name, value in values.items()}
        if bad is not None:
            other[max(other)].flat[3] = bad
        results = run_ranks(tmp_path, executable, [values, other], sums.parameters)
        results = [{name: value for name, value in each.items() if name.startswith("after ")} for each in results]
        assert_ranks_equal(results)
        is_skipped = bad is not None
        assert results[0]["after loss_scale"] == (32768 if is_skipped else 65536)
        assert results[0]["after adamw.step"] == (0 if is_skipped else 1)
        for name, value in sums.parameters.items():
            assert np.array_equal(results[0][f"after {name}"], value) == is_skipped


#: Wrong programs, which the checks above must find.


def planned_text(mode: str) -> str:
    module = program("forward_backward", 2).run_passes(f"cs336-pipeline{{world-size=2 distribute={mode}}}")
    return str(module)


def check_program(folder: Path, text: str) -> None:
    check_gradients(run_gradients(folder, cs336.compile(text), 2), "fp32")


@pytest.mark.parametrize("mode", MODES)
def test_sums_in_place_of_means_are_found(tmp_path: Path, mode: str) -> None:
    text = planned_text(mode)
    check_program(tmp_path, text)
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        check_program(tmp_path, text.replace("all_reduce mean", "all_reduce sum"))


def test_bucket_sent_before_its_last_gradient_is_found(tmp_path: Path) -> None:
    lines = planned_text("bucket").splitlines()
    position = next(i for i, line in enumerate(lines) if "exec.collective" in line)
    last = re.findall(r"%[\w.]+", lines[position].split("outs(")[0])[-1]
    writer = max(i for i, line in enumerate(lines[:position]) if f"outs({last} " in line)
    lines.insert(writer, lines.pop(position))
    with pytest.raises(ValueError, match=r"'exec\.collective' op reads a buffer that no command has written"):
        check_program(tmp_path, "\n".join(lines))


TWO_USES = """
func.func @step(%w: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w"},
                %x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %y = cs336.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %z = cs336.linear %y, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %s = cs336.mul %z, %z : tensor<4x8xf32>
  %loss = cs336.reduce sum %s axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
"""


def test_gradient_sent_before_its_last_addition_is_found(tmp_path: Path) -> None:
    """The second of two GEMMs adds to the gradient of the first; the wrong program exchanges it in between."""
    rng = np.random.default_rng(3)
    w = rng.standard_normal((8, 8), np.float32)
    inputs = [{"x": rng.standard_normal((4, 8), np.float32)} for _ in range(2)]
    session = cs336.Session(cs336.compile(TWO_USES), num_threads=1)
    session["w"] = w
    parts = [session.run("step", each)["w"] for each in inputs]

    def check(text: str) -> None:
        results = run_ranks(tmp_path, cs336.compile(text), inputs, {"w": w})
        assert_ranks_equal(results)
        np.testing.assert_array_equal(results[0]["w"], mean_of("fp32", "w", parts))

    text = str(cs336.parse(TWO_USES).run_passes("cs336-pipeline{world-size=2 distribute=overlap}"))
    check(text)
    lines = text.splitlines()
    addition, exchange = (next(i for i, line in enumerate(lines) if word in line) for word in (" add(", " outs(%w_"))
    first, whole = re.findall(r"(?:add|outs)\((%\w[\w.]*)", lines[addition])
    output = re.findall(r"outs\((%\w[\w.]*)", lines[exchange])[0]
    early = lines[exchange].replace(f"{whole} ", f"{first} ").replace(f"{output} ", f"{first} ")
    lines[addition] = early + "\n" + lines[addition].replace(f"outs({whole} ", f"outs({output} ")
    del lines[exchange]
    with pytest.raises(AssertionError, match="of rank 1"):
        check("\n".join(lines))


def test_missing_exchange_is_found(tmp_path: Path) -> None:
    lines = planned_text("overlap").splitlines()
    position = max(i for i, line in enumerate(lines) if "exec.collective" in line)
    lines[position] = lines[position].replace("exec.collective all_reduce mean", "exec.copy").replace("group = 2", "")
    with pytest.raises(AssertionError, match="of rank 1"):
        check_program(tmp_path, "\n".join(lines))


#: Arguments of cs336.compile.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ranks": 2}, "ranks requires distribute: pass both, or neither"),
        ({"distribute": "flat"}, "distribute requires ranks: pass both, or neither"),
        ({"ranks": 0, "distribute": "flat"}, "ranks is 0, must be at least 1"),
        (
            {"ranks": 2, "distribute": "ring"},
            "unknown distribute 'ring': expected per-parameter, flat, overlap, bucket, zero1",
        ),
        ({"ranks": 2, "distribute": "flat", "bucket_mib": 1}, 'bucket_mib requires distribute="bucket"'),
        ({"bucket_mib": 1}, 'bucket_mib requires distribute="bucket"'),
        ({"ranks": 2, "distribute": "bucket", "bucket_mib": 0}, "bucket_mib is 0, must be above 0 and finite"),
        ({"ranks": 2, "distribute": "bucket", "bucket_mib": "large"}, "bucket_mib is 'large', must be above 0"),
        (
            {"ranks": 2, "distribute": "flat", "pipeline": "world-size=4"},
            "ranks=2 conflicts with 'world-size=4' in pip",
        ),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        cs336.compile(program("train", 2), **arguments)


def test_session_of_one_rank_refuses_the_program() -> None:
    executable = cs336.compile(program("train", 2), ranks=2, distribute="flat")
    with pytest.raises(ValueError, match="2 ranks"):
        cs336.Session(executable)
    assert cs336.compile(program("train", 2), ranks=1, distribute="flat").ranks == 1
