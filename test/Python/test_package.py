"""The package's own behaviour: names, files, text of every stage."""

from __future__ import annotations

from pathlib import Path

import cs336
import numpy as np
import pytest
import reference
from compiled_model import executable
from device import DEVICE, compile_program, open_session
from package_sources import missing_sources
from safetensors.numpy import load_file, save_file

CONFIG = reference.Config(31, 8, 16, 2, 2, 24, batch_size=2)
NUMBERS = reference.Optimizer(lr=1e-2)


@pytest.fixture
def session() -> cs336.Session:
    result = open_session(executable(CONFIG, "train", "f32", NUMBERS))
    result.initialize(0)
    return result


def batch(step: int = 0) -> dict[str, np.ndarray]:
    tokens, targets = reference.random_batch(CONFIG, np.random.default_rng(step))
    return {"tokens": tokens, "targets": targets}


def test_every_source_file_is_in_the_package() -> None:
    assert missing_sources(Path(cs336.__file__).parent) == []


@pytest.mark.parametrize(
    ("size", "parameters"),
    [
        ("small", 128_625_408),
        ("medium", 423_183_360),
        ("large", 969_411_840),
        ("xl", 1_998_235_200),
        ("2.7B", 3_406_809_600),
        ("2.35B", 2_357_814_400),
        ("10B", 12_832_823_808),
    ],
)
def test_sizes_have_the_published_parameter_counts(size: str, parameters: int) -> None:
    assert cs336.TransformerConfig.named(size).parameter_count() == parameters


def test_parameters_have_checkpoint_names(session: cs336.Session) -> None:
    shapes = {name: value.shape for name, value in session.parameters().items()}
    assert shapes == reference.parameter_shapes(CONFIG)
    moments = {f"adamw.{moment}.{name}" for name in shapes for moment in "mv"}
    assert set(session.state()) == moments | {"adamw.step"}


def test_views_of_packed_weights_read_and_write(session: cs336.Session) -> None:
    name = "layers.1.attn.k_proj.weight"
    others = {other: session[other] for other in session if other != name}
    value = np.arange(256, dtype=np.float32).reshape(16, 16)
    session[name] = value
    assert np.array_equal(session[name], value)
    for other, before in others.items():
        assert np.array_equal(session[other], before), other


def test_reading_gives_a_copy(session: cs336.Session) -> None:
    session["ln_final.weight"][:] = 7
    assert np.all(session["ln_final.weight"] == 1)
    loss = session.run("loss", batch())["loss"]
    kept = loss.copy()
    session.run("train", batch())
    session.run("loss", batch())
    assert loss == kept


def test_only_the_wanted_outputs_are_copied(session: cs336.Session) -> None:
    both = session.run("train", batch())
    assert set(session.run("train", batch(), outputs=["loss"])) == {"loss"} <= set(both)
    assert session.run("train", batch(), outputs=()) == {}
    with pytest.raises(ValueError, match="entry 'train' has no output 'grad'"):
        session.run("train", batch(), outputs=["grad"])
    assert int(session["adamw.step"]) == 3


def test_float64_arrays_become_float32(session: cs336.Session) -> None:
    session["ln_final.weight"] = np.full(16, 0.1)
    assert np.all(session["ln_final.weight"] == np.float32(0.1))


def test_training_lowers_the_loss(session: cs336.Session) -> None:
    losses = [float(session.run("train", batch())["loss"]) for _ in range(20)]
    assert losses[-1] < losses[0] - 0.5
    assert int(session["adamw.step"]) == 20


@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
def test_a_checkpoint_restores_the_run(session: cs336.Session, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"checkpoint{suffix}"
    for step in range(3):
        session.run("train", batch(step))
    session.save(path)
    expected = [session.run("train", batch(step))["loss"].tobytes() for step in range(3, 6)]
    other = open_session(executable(CONFIG, "train", "f32", NUMBERS))
    other.load(path)
    assert [other.run("train", batch(step))["loss"].tobytes() for step in range(3, 6)] == expected


def test_checkpoints_are_what_the_safetensors_library_writes_and_reads(session: cs336.Session, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    session.save(path, parameters_only=True)
    tensors = load_file(path)
    assert {name: value.shape for name, value in tensors.items()} == reference.parameter_shapes(CONFIG)
    rng = np.random.default_rng(0)
    tensors = {name: rng.standard_normal(value.shape).astype(np.float32) for name, value in tensors.items()}
    save_file(tensors, path)
    session.load(path, parameters_only=True)
    for name, value in tensors.items():
        assert np.array_equal(session[name], value), name
    save_file(tensors | {"notes": np.zeros(1, np.float32)}, path)
    session.load(path, parameters_only=True, ignore_extra=True)


def test_an_executable_survives_its_file(session: cs336.Session, tmp_path: Path) -> None:
    path = tmp_path / "model.cs336x"
    executable(CONFIG, "train", "f32", NUMBERS).save(path)
    loaded = cs336.Executable.load(path)
    assert {"train", "loss", "forward"} <= set(loaded.entries)
    other = open_session(loaded)
    other.initialize(0)
    assert other.run("train", batch())["loss"] == session.run("train", batch())["loss"]
    assert loaded.inputs("train")["tokens"] == cs336.Input("i64", (2, 8), 31)
    assert loaded.outputs("forward")["logits"] == cs336.Output("f32", (2, 8, 31))


def test_types_and_fusion_are_options_of_the_pipeline() -> None:
    module = cs336.build(cs336.TransformerConfig(16, 24, 1, 2, vocab_size=11, context_length=4), "forward")
    low = compile_program(module, dtype="bf16", fusion="all")
    assert low.outputs("forward")["logits"].dtype == "bf16"
    assert low._executable.bytes == compile_program(module, pipeline="dtype=bf16 fusion=all")._executable.bytes
    assert (
        compile_program(module, pipeline="merge-gemms=false", dtype="tf32").outputs("forward")["logits"].dtype == "f32"
    )


def test_text_of_every_stage_reads_back() -> None:
    stages = ["cs336-merge-gemms", "cs336-decompose", "canonicalize,cse"]
    stages += ["func.func(cs336-differentiate)", "func.func(cs336-optimizer)"]
    module = cs336.build(cs336.TransformerConfig(16, 24, 1, 2, vocab_size=31, context_length=8), "train")
    texts = [str(module)]
    for stage in stages:
        module = module.run_passes(stage)
        texts.append(str(module))
        assert str(cs336.parse(texts[-1])) == texts[-1], stage
    assert len(set(texts)) == len(texts)
    assert "cs336.rope" in texts[0]
    assert "cs336.rope" not in texts[2]
    assert "layers.0.attn" in module.text()
    planned = cs336.build(cs336.TransformerConfig(16, 24, 1, 2), "train").run_passes("cs336-pipeline")
    assert "exec.entry @train" in str(planned)


def test_passes_leave_the_module_as_it_is() -> None:
    module = cs336.build(cs336.TransformerConfig(16, 24, 1, 2), "forward")
    before = str(module)
    module.run_passes("cs336-decompose")
    assert str(module) == before


def test_cost_counts_linears() -> None:
    config = cs336.TransformerConfig(16, 24, 3, 2, vocab_size=31, context_length=8, batch_size=2)
    linear = cs336.build(config, "forward").cost()["forward"]["cs336.linear"]
    positions, d, ff = 2 * 8, 16, 24
    assert linear.count == 3 * 7 + 1
    assert linear.flops == 2 * positions * (3 * (4 * d * d + 3 * d * ff) + d * 31)


def test_a_cache_that_all_may_write_to_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("CS336_CACHE_DIR", str(tmp_path))
    module = cs336.build(cs336.TransformerConfig(16, 24, 1, 2), "forward")
    with pytest.warns(RuntimeWarning, match=f"compiling without a cache: every user may write to .*'{tmp_path}'"):
        cs336.compile(module)
    assert list(tmp_path.iterdir()) == []


def test_one_program_serves_several_sessions(session: cs336.Session) -> None:
    other = open_session(executable(CONFIG, "train", "f32", NUMBERS))
    other.initialize(0)
    session.run("train", batch())
    assert int(other["adamw.step"]) == 0
    assert other.run("train", batch())["loss"].shape == ()


def test_shared_variables_are_the_variables_themselves(session: cs336.Session) -> None:
    if DEVICE != "cpu":
        pytest.skip("NumPy only takes arrays of the host")
    name = "layers.1.attn.k_proj.weight"
    shared = np.from_dlpack(session.share(name))
    assert np.array_equal(shared, session[name])
    session[name] = np.full(shared.shape, 7.0)
    assert np.all(shared == 7)
    session.run("loss", batch())
    loss = np.from_dlpack(session.share("loss", entry="loss"))
    assert loss == session.run("loss", batch())["loss"]
    del session
    assert np.all(shared == 7)


def test_sharing_what_is_not_there(session: cs336.Session) -> None:
    with pytest.raises(ValueError, match="no variable 'missing'"):
        session.share("missing")
    with pytest.raises(ValueError, match="no output 'missing'"):
        session.share("missing", entry="loss")
    with pytest.raises(ValueError, match="no entry 'nothing'"):
        session.share("loss", entry="nothing")


def test_a_session_says_what_it_takes(session: cs336.Session) -> None:
    with pytest.raises(RuntimeError, match="has not run"):
        session.last_run_seconds("loss")
    session.run("loss", batch())
    session.synchronize()
    assert session.last_run_seconds("loss") > 0
    memory = session.memory()
    assert memory["allocated_bytes"] == session.allocated_bytes > 0
    # A GPU counts the memory of all processes: others may have freed more.
    assert memory["used_bytes"] >= (session.allocated_bytes if DEVICE == "cpu" else 0)
    assert memory["available_bytes"] > 0
