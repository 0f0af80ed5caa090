"""Ranks that store parts of parameters train like ranks that store them whole.

Five wrong programs are among the tests: sums of gradients, a missing gather, a norm of a rank's own parts, and derived
parts that the update or `prepare` does not write.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cs336
import numpy as np
import pytest
import reference
from compiled_model import optimizer, transformer_config
from device import DEVICE
from rank_runs import Tensors, assert_ranks_equal, draw_batch, draw_parameters, run_ranks, split_batch
from test_adamw import optimizer_attribute, sum_of_products
from test_data_parallel import OPTIONS, TWO_USES
from test_distributed import launch

pytestmark = pytest.mark.skipif(DEVICE != "cpu", reason="ranks run on the CPU")

MODES = ("zero1", "fsdp")
BATCH = 8
LR = 1e-3
MAX_NORM = 0.1


def config(batch: int) -> reference.Config:
    """Return a model whose matrices have rows for up to 16 ranks."""
    return reference.Config(64, 16, 32, 2, 2, 64, batch_size=batch)


def program(mode: Any, ranks: int, max_norm: float = 0.0) -> cs336.Module:
    numbers = reference.Optimizer(lr=LR, max_norm=max_norm)
    return cs336.build(transformer_config(config(BATCH // ranks)), mode, optimizer=optimizer(numbers))


def parameters() -> Tensors:
    return draw_parameters(config(BATCH))


def batch() -> Tensors:
    return draw_batch(config(BATCH))


def compile_ranks(mode: str, ranks: int, max_norm: float = 0.0, **options: Any) -> cs336.Executable:
    distribute: dict[str, Any] = {"ranks": ranks, "distribute": mode} if ranks > 1 else {}
    return cs336.compile(program("train", ranks, max_norm), **distribute, **options)


def train(
    folder: Path, executable: cs336.Executable, steps: int, start: Tensors | None = None, flag: str = "--ranks"
) -> list[Tensors]:
    """Train each rank on its rows. If the number of ranks does not divide the batch, the last rows are left out."""
    ranks = executable.ranks
    rows = {name: value[: BATCH // ranks * ranks] for name, value in batch().items()}
    return run_ranks(folder, executable, split_batch(rows, ranks), start or parameters(), steps, flag)


def state_of(result: Tensors) -> Tensors:
    """Return the parameters and the optimizer's state after a run."""
    return {name.removeprefix("after "): value for name, value in result.items() if name.startswith("after ")}


#: Steps.


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_clipped_steps_have_the_bits_of_replicated_ranks(tmp_path: Path, mode: str, name: str, ranks: int) -> None:
    """The mean of a gradient's rows, the sum of their squares and their update do not depend on the rank."""
    replicated = train(tmp_path, compile_ranks("bucket", ranks, MAX_NORM, **OPTIONS[name]), steps=5)
    sharded = train(tmp_path, compile_ranks(mode, ranks, MAX_NORM, **OPTIONS[name]), steps=5)
    assert_ranks_equal([replicated[0], *sharded])
    assert sharded[0]["grad_norm"] > MAX_NORM, "the gradients are clipped"
    assert not np.array_equal(sharded[0]["after lm_head.weight"], parameters()["lm_head.weight"])


@pytest.mark.parametrize("max_norm", [0, MAX_NORM])
@pytest.mark.parametrize(("ranks", "flag", "sharded"), [(3, "--ranks", 2), (8, "--ranks", 10), (2, "--nproc", 10)])
def test_fsdp_has_the_bits_of_replicated_ranks_on_any_number(
    tmp_path: Path, ranks: int, flag: str, sharded: int, max_norm: float
) -> None:
    """Three ranks divide only the packed rows of q, k and v, and store other matrices whole. Two are processes."""
    text = str(program("train", ranks).run_passes(f"cs336-pipeline{{world-size={ranks} distribute=fsdp}}"))
    assert len(re.findall(rf"exec\.variable .* parameter : .*shards = {ranks} ", text)) == sharded
    replicated = train(tmp_path, compile_ranks("bucket", ranks, max_norm), steps=3, flag=flag)
    assert_ranks_equal([replicated[0], *train(tmp_path, compile_ranks("fsdp", ranks, max_norm), steps=3, flag=flag)])


def test_buckets_and_prefetch_do_not_change_bits(tmp_path: Path) -> None:
    expected = train(tmp_path, compile_ranks("bucket", 2), steps=2)
    for options in ({"bucket_mib": 1e-6}, {"pipeline": "prefetch=0"}, {"pipeline": "prefetch=9"}):
        assert_ranks_equal([expected[0], *train(tmp_path, compile_ranks("fsdp", 2, **options), steps=2)])


@pytest.mark.parametrize("mode", MODES)
def test_parameter_with_two_uses(tmp_path: Path, mode: Any) -> None:
    rng = np.random.default_rng(3)
    w = rng.standard_normal((8, 8), np.float32)
    inputs = [{"x": rng.standard_normal((4, 8), np.float32)} for _ in range(2)]

    def run(distribute: Any) -> list[Tensors]:
        executable = cs336.compile(TWO_USES, ranks=2, distribute=distribute)
        return run_ranks(tmp_path, executable, inputs, {"w": w})

    assert_ranks_equal([run("bucket")[0], *run(mode)])


@pytest.mark.parametrize("mode", MODES)
def test_overflow_in_the_part_of_one_rank_skips_the_step_of_all(tmp_path: Path, mode: str) -> None:
    """The inputs are the gradients. The infinity is in rows of one rank, which alone sees it in its part."""
    sums = sum_of_products("f32", np.random.default_rng(11), [(8, 4), (4, 3), (5,)])
    attributes = f"cs336.optimizer = {optimizer_attribute(reference.Optimizer(lr=1e-2, max_norm=1.0))}"
    attributes += ", cs336.loss_scaling = #cs336.loss_scaling<interval = 3>"
    kind = "cs336.mode = #cs336.mode<train>"
    text = sums.text("train").replace(kind, f"{kind}, {attributes}")
    executable = cs336.compile(text, dtype="fp16", ranks=2, distribute=mode)  # type: ignore[arg-type]
    names = list(sums.inputs)
    for name, row, bad in ((names[0], 0, np.inf), (names[0], 7, np.nan), (names[1], 3, 1e35), (names[2], 1, -np.inf)):
        values = {each: np.ones(value.shape, np.float32) for each, value in sums.inputs.items()}
        other = {each: value.copy() for each, value in values.items()}
        other[name][row] = bad
        for inputs, is_skipped in (([values, other], True), ([values, values], False)):
            results = [state_of(each) for each in run_ranks(tmp_path, executable, inputs, sums.parameters)]
            assert_ranks_equal(results)
            assert results[0]["loss_scale"] == (32768 if is_skipped else 65536)
            assert results[0]["adamw.step"] == (0 if is_skipped else 1)
            for each, value in sums.parameters.items():
                assert np.array_equal(results[0][each], value) == is_skipped


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_loss_alone_reads_whole_parameters(tmp_path: Path, mode: Any, dtype: Any) -> None:
    executable = cs336.compile(program("loss", 2), ranks=2, distribute=mode, dtype=dtype)
    parts = split_batch(batch(), 2)
    results = run_ranks(tmp_path, executable, parts, parameters())
    session = cs336.Session(cs336.compile(program("loss", 2), dtype=dtype), num_threads=1)
    session.set_parameters(parameters())
    for part, result in zip(parts, results, strict=True):
        assert result["loss"] == session.run("loss", part)["loss"]


#: Checkpoints.


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("fsdp", 2), ("bucket", 2)),
        (("bucket", 2), ("fsdp", 2)),
        (("zero1", 4), ("fsdp", 4)),
        (("fsdp", 4), ("zero1", 2)),
        (("zero1", 2), ("overlap", 1)),
        (("bucket", 1), ("fsdp", 4)),
        (("bucket", 2), ("zero1", 4)),
    ],
)
def test_checkpoints_resume_in_other_modes_and_on_other_numbers_of_ranks(
    tmp_path: Path, first: tuple[str, int], second: tuple[str, int]
) -> None:
    """Three steps after a checkpoint have the losses of an uninterrupted run.

    On as many ranks, all bits are equal. On other numbers, gradients are added in another order, in float32.
    """
    straight = compile_ranks("bucket", second[1])
    saved = state_of(train(tmp_path, compile_ranks(*first), steps=2)[0])
    shapes = {name: variable.shape for name, variable in straight.variables.items() if variable.kind != "derived"}
    assert {name: value.shape for name, value in saved.items()} == shapes
    resumed = compile_ranks(*second)
    for steps in (1, 2, 3):
        actual = train(tmp_path, resumed, steps, start=saved)
        assert_ranks_equal(actual)
        expected = train(tmp_path, straight, 2 + steps)
        if first[1] == second[1]:
            assert_ranks_equal([expected[0], actual[0]])
        np.testing.assert_allclose(actual[0]["loss"], expected[0]["loss"], rtol=1e-5)
    assert actual[0]["after adamw.step"] == 5


SESSIONS = """
import cs336, numpy as np
with cs336.distributed.init() as group:
    executable = cs336.Executable.load("FOLDER/fsdp.cs336x")
    session = cs336.Session(executable, num_threads=1, group=group)
    session.initialize(3)
    session.save(f"FOLDER/saved-{group.rank}.npz")
    assert session["lm_head.weight"].shape == (64, 32)
    assert session["layers.0.attn.k_proj.weight"].shape == (32, 32)
    session["layers.0.attn.k_proj.weight"] = np.full((32, 32), 2, np.float32)
    assert (session["layers.0.attn.k_proj.weight"] == 2).all()
    try:
        session.share("lm_head.weight")
    except RuntimeError as error:
        print(error)
    session.load(f"FOLDER/saved-{group.rank}.npz")
    session.save(f"FOLDER/again-{group.rank}.npz")
    group.barrier()
"""


def test_sessions_give_and_get_whole_variables(tmp_path: Path) -> None:
    compile_ranks("fsdp", 2).save(tmp_path / "fsdp.cs336x")
    done = launch(tmp_path, 2, SESSIONS.replace("FOLDER", str(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("variable 'lm_head.weight' is sharded over 2 ranks") == 2
    alone = cs336.Session(compile_ranks("bucket", 1))
    alone.initialize(3)
    expected = {**alone.parameters(), **alone.state()}
    for name in ("saved", "again"):
        for rank in range(2):
            saved = np.load(tmp_path / f"{name}-{rank}.npz")
            assert set(saved) == set(expected)
            for each, value in saved.items():
                assert value.tobytes() == expected[each].tobytes(), each


#: Derived parts.


SHADOWS = """
import cs336, numpy as np
with cs336.distributed.init() as group:
    executable = cs336.Executable.load("FOLDER/program.cs336x")
    session = cs336.Session(executable, num_threads=1, group=group)
    inputs = dict(np.load(f"FOLDER/in-{group.rank}.npz"))
    shadows = sorted(name for name in executable.variables if name.startswith("shadow."))
    assert len(shadows) == 9, shadows
    packed = {"qkv_proj": ["q_proj", "k_proj", "v_proj"], "w13": ["w1", "w3"]}
    before = None

    def rounded(name):
        _, dtype, parameter = name.split(".", 2)
        part = parameter.split(".")[-2]
        value = np.concatenate([session[parameter.replace(part, each)] for each in packed.get(part, [part])])
        if dtype == "f16":
            return value.astype(np.float16)
        bits = value.view(np.uint32)
        return (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).view(np.float32)

    def check():
        global before
        values = [session[name] for name in shadows]
        for name, value in zip(shadows, values):
            np.testing.assert_array_equal(value, rounded(name), name)
        assert before is None or any((a != b).any() for a, b in zip(before, values))
        before = values

    session.initialize(3)
    check()
    session.save(f"FOLDER/saved-{group.rank}.npz")
    assert not any(name in np.load(f"FOLDER/saved-{group.rank}.npz") for name in shadows)
    for _ in range(2):
        session.run("train", inputs)
        check()
    session["layers.0.attn.k_proj.weight"] = np.full((32, 32), 2, np.float32)
    session.run("train", inputs)
    check()
    session.load(f"FOLDER/saved-{group.rank}.npz")
    check()
    group.barrier()
"""


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
@pytest.mark.parametrize("mode", MODES)
def test_derived_parts_are_the_rounded_parameters(tmp_path: Path, mode: str, dtype: str) -> None:
    """After initializing, steps, setting a packed weight, and loading; no checkpoint holds them."""
    compile_ranks(mode, 2, dtype=dtype).save(tmp_path / "program.cs336x")
    for rank, inputs in enumerate(split_batch(batch(), 2)):
        np.savez(tmp_path / f"in-{rank}.npz", **inputs)
    done = launch(tmp_path, 2, SHADOWS.replace("FOLDER", str(tmp_path)))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mode", MODES)
def test_derived_parts_do_not_change_bits(tmp_path: Path, mode: str) -> None:
    options = {"dtype": "bf16", "max_norm": MAX_NORM}
    expected = train(tmp_path, compile_ranks(mode, 2, pipeline="weight-shadows=false", **options), steps=3)
    assert_ranks_equal([expected[0], *train(tmp_path, compile_ranks(mode, 2, **options), steps=3)])


#: Memory.


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_variables_take_a_part_of_the_memory(ranks: int, dtype: Any) -> None:
    """Per element of a matrix: 4/N bytes for the parameter, 8/N for its moments, in bf16 2/N for its derived weight.

    With zero1, what is gathered takes as much as the whole. Vectors stay whole. Their moments, and the counters of the
    optimizer, do too. Embeddings are read in float32.
    """
    large = cs336.TransformerConfig(
        vocab_size=512, context_length=16, d_model=128, num_layers=8, num_heads=4, d_ff=512, batch_size=1
    )
    module = cs336.build(large, "train", optimizer=cs336.Optimizer(max_norm=1.0))

    def plan(mode: Any, count: int) -> cs336.Plan:
        options: dict[str, Any] = {"ranks": count, "distribute": mode, "bucket_mib": 0.25} if count > 1 else {}
        return cs336.compile(module, dtype=dtype, **options).plan("train")

    whole = plan("bucket", 1)
    vectors, embedding = 4 * 128 * (2 * 8 + 1), 4 * 512 * 128
    matrices = whole.parameter_bytes - vectors - embedding
    rounded = matrices // 2 if dtype == "bf16" else 0
    # Memory of zero1 for all parts of what it gathers: rounded matrices, and the parameters that are read in float32.
    parts = {"fsdp": 0, "zero1": embedding if rounded else embedding + matrices}
    for mode in MODES:
        sharded = plan(mode, ranks)
        derived = whole.derived_bytes - rounded + (rounded if mode == "zero1" else rounded // ranks)
        assert sharded.derived_bytes == derived
        expected = (matrices + embedding - parts[mode]) / ranks + parts[mode] + vectors
        assert abs(sharded.parameter_bytes - expected) <= 0.02 * expected
        expected = (whole.state_bytes - 2 * vectors) / ranks + 2 * vectors
        assert abs(sharded.state_bytes - expected) <= 0.02 * expected
    # Parameters that are gathered again are not kept from the forward to the backward pass.
    totals = {
        mode: each.arena_bytes + each.parameter_bytes + each.derived_bytes
        for mode, each in ((mode, plan(mode, ranks)) for mode in MODES)
    }
    assert totals["fsdp"] < 0.85 * totals["zero1"]


#: Wrong programs, which the checks above must find.


def planned_text(mode: str, max_norm: float = 0.0) -> str:
    return str(program("train", 2, max_norm).run_passes(f"cs336-pipeline{{world-size=2 distribute={mode}}}"))


def check_steps(folder: Path, text: str, max_norm: float = 0.0) -> None:
    """Assert that two steps of the program have the parameters of replicated ranks."""
    expected = train(folder, compile_ranks("bucket", 2, max_norm), steps=2)
    results = train(folder, cs336.compile(text), steps=2)
    assert_ranks_equal(results)
    for name in parameters():
        np.testing.assert_allclose(results[0][f"after {name}"], expected[0][f"after {name}"], atol=1e-6, err_msg=name)
    np.testing.assert_array_equal(
        results[0]["after adamw.m.lm_head.weight"], expected[0]["after adamw.m.lm_head.weight"]
    )


@pytest.mark.parametrize("mode", MODES)
def test_sums_in_place_of_means_are_found(tmp_path: Path, mode: str) -> None:
    text = planned_text(mode)
    check_steps(tmp_path, text)
    with pytest.raises(AssertionError, match=r"Not equal to tolerance|Arrays are not equal"):
        check_steps(tmp_path, text.replace("reduce_scatter mean", "reduce_scatter sum"))


@pytest.mark.parametrize("mode", MODES)
def test_missing_gathers_are_found(tmp_path: Path, mode: str) -> None:
    lines = planned_text(mode).splitlines()
    gathers = [i for i, line in enumerate(lines) if "exec.collective all_gather" in line]
    assert len(gathers) > 4
    for position in gathers:
        without = "\n".join(lines[:position] + lines[position + 1 :])
        with pytest.raises(ValueError, match=r"reads (a buffer that|the parts of other ranks, which) no command has"):
            cs336.compile(without)


def test_norm_of_own_parts_is_found(tmp_path: Path) -> None:
    text = planned_text("fsdp", MAX_NORM)
    sums = [line for line in text.splitlines() if "all_reduce sum" in line]
    assert len(sums) == 1
    results = train(tmp_path, cs336.compile(text), steps=2)
    assert_ranks_equal(results)
    source, target = re.findall(r"(?:ins|outs)\((%[\w.]+)", sums[0])
    assert source == target, "the sum is in place, so the program without it is complete"
    with pytest.raises(AssertionError, match="of rank 1"):
        assert_ranks_equal(train(tmp_path, cs336.compile(text.replace(sums[0], "")), steps=2))


PASSES = (
    "func.func(cs336-autocast{dtype=bf16}),cs336-merge-gemms,func.func(cs336-decompose,canonicalize,cse,"
    "cs336-differentiate,cs336-distribute{world-size=2 mode=MODE},cs336-optimizer),cs336-weight-shadows"
)


@pytest.mark.parametrize("mode", MODES)
def test_derived_parts_that_the_update_leaves_stale_are_found(tmp_path: Path, mode: str) -> None:
    """Updates that round the old part are right for one step."""
    text = str(program("train", 2).run_passes(PASSES.replace("MODE", mode)))
    update = re.compile(r"(cs336\.adamw (%\w+), .*\n\s*%\w+ = cs336\.cast )%\w+( :)")
    stale, count = update.subn(r"\1\2\3", text)
    assert count == 9
    right, wrong = (cs336.compile(each) for each in (text, stale))
    assert_ranks_equal(train(tmp_path, right, steps=1) + train(tmp_path, wrong, steps=1))
    expected, results = train(tmp_path, right, steps=2), train(tmp_path, wrong, steps=2)
    assert_ranks_equal(expected)
    assert results[0]["loss"] != expected[0]["loss"]
    with pytest.raises(AssertionError, match="of rank 2"):
        assert_ranks_equal(expected + results)


@pytest.mark.parametrize("mode", MODES)
def test_derived_parts_that_prepare_does_not_fill_are_found(tmp_path: Path, mode: str) -> None:
    text = str(program("train", 2).run_passes(f"cs336-pipeline{{world-size=2 distribute={mode} dtype=bf16}}"))
    expected = train(tmp_path, compile_ranks("bucket", 2, dtype="bf16"), steps=1)[0]
    assert_ranks_equal([expected, *train(tmp_path, cs336.compile(text), steps=1)])
    lines = text.splitlines()
    entry = next(i for i, line in enumerate(lines) if "exec.entry @prepare" in line)
    fills = [i for i in range(entry, len(lines)) if re.search(r"exec\.launch @.* outs\(%shadow\.", lines[i])]
    assert fills
    for position in fills:
        without = cs336.compile("\n".join(lines[:position] + lines[position + 1 :]))
        assert train(tmp_path, without, steps=1)[0]["loss"] != expected["loss"]
