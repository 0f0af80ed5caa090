"""Invalid inputs are rejected with a message that names the error and its position, and change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cs336
import numpy as np
import pytest
import reference
from compiled_model import executable
from device import open_session
from safetensors.numpy import load_file, save_file

CONFIG = reference.Config(31, 8, 16, 1, 2, 24, batch_size=2)


@pytest.fixture
def session() -> cs336.Session:
    result = open_session(executable(CONFIG, "train"))
    result.initialize(0)
    return result


def batch(**changes: object) -> dict[str, np.ndarray]:
    tokens, targets = reference.random_batch(CONFIG, np.random.default_rng(0))
    inputs: dict[str, object] = {"tokens": tokens, "targets": targets} | changes
    return {name: value for name, value in inputs.items() if value is not None}  # type: ignore[misc]


# --- Descriptions. ---


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_heads": 3}, "d_model is 16, must be a multiple of num_heads"),
        ({"d_model": 6, "num_heads": 2}, "even"),
        ({"d_model": 0}, "d_model"),
        ({"num_layers": -1}, "num_layers"),
        ({"vocab_size": 1 << 62}, "vocab_size"),
        ({"context_length": 1 << 40, "batch_size": 1 << 40}, "context_length|batch_size"),
        ({"rope_theta": 0.0}, "rope_theta"),
    ],
    ids=str,
)
def test_impossible_models(changes: dict[str, float], message: str) -> None:
    good = {"d_model": 16, "d_ff": 24, "num_layers": 1, "num_heads": 2}
    with pytest.raises(ValueError, match=message):
        cs336.TransformerConfig(**good | changes)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"size": "huge"}', '{"d_modle": 3}', "[" * 100000], ids=lambda t: t[:8]
)
def test_malformed_descriptions(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        cs336.TransformerConfig.from_json(text)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"lr": -1.0}, "lr must be finite and not negative"),
        ({"beta1": 1.0}, "beta"),
        ({"eps": -1e-8}, "eps"),
        ({"form": "adagrad"}, "form"),
    ],
    ids=str,
)
def test_impossible_optimizers(numbers: dict[str, float], message: str) -> None:
    config = cs336.TransformerConfig(16, 24, 1, 2)
    with pytest.raises(ValueError, match=message):
        cs336.build(config, "train", optimizer=cs336.Optimizer(**numbers))  # type: ignore[arg-type]


# --- IR. ---


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%0 = cs336.add %a, %b : tensor<4x8xf32>", "expects different type"),
        ("%0 = cs336.matmul %a, %b : tensor<4x8xf32>, tensor<4x9xf32> -> tensor<4x9xf32>", "inner sizes differ"),
        ("%0 = cs336.silu %a : tensor<?x8xf32>", ""),
        ("%0 = cs336.nothing %a : tensor<4x8xf32>", "nothing"),
        ("this is not IR", "unknown"),
    ],
)
def test_ill_typed_ir(body: str, message: str) -> None:
    text = f"func.func @f(%a: tensor<4x8xf32>, %b: tensor<4x9xf32>) {{\n  {body}\n  return\n}}"
    with pytest.raises(ValueError, match=f"bad.mlir:2.*{message}"):
        cs336.parse(text, "bad.mlir")


@pytest.mark.parametrize("element", ["index", "tensor<4xcomplex<f32>>", "tensor<4xi8>", "memref<4xf32>", "f32"])
def test_types_that_no_parameter_has(element: str) -> None:
    port = '{cs336.kind = "parameter", cs336.name = "w"}'
    with pytest.raises(ValueError, match='argument 0 of kind "parameter" must be a tensor'):
        cs336.parse(f"func.func @f(%w: {element} {port}) {{ return }}", "named.mlir")
    unnamed = cs336.parse(f"func.func @f(%x: tensor<f32>, %w: {element}) -> tensor<f32> {{ return %x : tensor<f32> }}")
    with pytest.raises(ValueError, match="argument 1 of @f must be a tensor"):
        cs336.compile(unnamed, "mode=forward_backward")


def test_unknown_passes_and_options() -> None:
    module = cs336.build(cs336.TransformerConfig(16, 24, 1, 2), "forward")
    with pytest.raises(ValueError, match="no-such-pass"):
        module.run_passes("no-such-pass")
    with pytest.raises(ValueError, match=r"\w"):
        cs336.compile(module, "no-such-option=1")
    with pytest.raises(ValueError, match="unknown fusion 'some': expected none, elementwise, softmax, flash or all"):
        cs336.compile(module, fusion="some")
    with pytest.raises(ValueError, match="unknown dtype 'fp8': expected fp32, tf32, bf16 or fp16"):
        cs336.compile(module, dtype="fp8")
    with pytest.raises(ValueError, match="pipeline options 'fusion=some'"):
        cs336.compile(module, "fusion=some")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"checkpoint": -1}, "checkpoint is -1, must be at least 0"),
        ({"checkpoint": 1 << 40}, "checkpoint is 1099511627776, must be below 2^32"),
        ({"ranks": 1 << 70, "distribute": "flat"}, "ranks is 1180591620717411303424, must be below 2^63"),
        ({"architectures": ["sm_80"]}, 'architectures requires device="cuda": code for the CPU is always for this'),
    ],
)
def test_options_out_of_range(arguments: dict[str, Any], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        cs336.compile(cs336.build(cs336.TransformerConfig(16, 24, 1, 2), "train"), **arguments)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"use_cache": "no"}, "use_cache must be True or False, is 'no'"),
        ({"dump_dir": 3}, "dump_dir must be a path, is 3"),
        ({"dump_dir": b"folder"}, "dump_dir must be a path, is b'folder'"),
    ],
)
def test_types_of_arguments_of_compile(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        cs336.compile(cs336.build(cs336.TransformerConfig(16, 24, 1, 2), "forward"), **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": 0}, "device must be a string, is 0"),
        ({"num_threads": 2.0}, "num_threads must be an integer, is 2.0"),
        ({"memory_limit_bytes": "1GiB"}, "memory_limit_bytes must be an integer, is '1GiB'"),
        ({"profile": "yes"}, "profile must be True or False, is 'yes'"),
        ({"use_graphs": None}, "use_graphs must be True or False, is None"),
        ({"exchange": 1}, "exchange must be a string, is 1"),
        ({"group": "g"}, "the group of a session must be of type Group, is of type str: join one with cs336.distri"),
        ({"group": 0}, "the group of a session must be of type Group, is of type int"),
    ],
)
def test_types_of_arguments_of_a_session(arguments: dict[str, Any], message: str) -> None:
    executable = cs336.compile(cs336.build(cs336.TransformerConfig(16, 24, 1, 2, 31, 8, 2), "forward"))
    with pytest.raises(TypeError, match=re.escape(message)):
        cs336.Session(executable, **arguments)


def test_booleans_are_numbers(capfd: pytest.CaptureFixture[str]) -> None:
    """The text of an option has the number 1 for True, which is an integer in Python."""
    module = cs336.build(cs336.TransformerConfig(16, 24, 2, 2), "train")
    cs336.compile(module, checkpoint=True, ranks=True, distribute="bucket", bucket_mib=True)
    assert capfd.readouterr().err == ""


# --- Inputs. ---


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": np.full((2, 8), 31)}, r"tokens.*31"),
        ({"targets": np.full((2, 8), -1)}, r"targets.*-1"),
        ({"tokens": np.zeros((2, 9), np.int64)}, "tokens"),
        ({"tokens": np.zeros((2, 8))}, "tokens"),
        ({"targets": None}, "targets"),
        ({"labels": np.zeros((2, 8), np.int64)}, "labels"),
    ],
    ids=["token too large", "negative target", "shape", "type", "missing", "extra"],
)
def test_bad_inputs_change_nothing(session: cs336.Session, changes: dict[str, object], message: str) -> None:
    before = {name: session[name] for name in session}
    with pytest.raises(ValueError, match=message):
        session.run("train", batch(**changes))
    for name, value in before.items():
        assert np.array_equal(session[name], value), name


def test_unknown_entry(session: cs336.Session) -> None:
    with pytest.raises(ValueError, match="backwards"):
        session.run("backwards", batch())


def test_complex_input_is_a_type_error(session: cs336.Session) -> None:
    with pytest.raises((TypeError, ValueError)):
        session.run("train", batch(tokens=np.zeros((2, 8), np.complex128)))


# --- Parameters. ---


def test_bad_parameters(session: cs336.Session) -> None:
    parameters = session.parameters()
    with pytest.raises(ValueError, match=r"missing: lm_head\.weight"):
        session.set_parameters({name: value for name, value in parameters.items() if name != "lm_head.weight"})
    with pytest.raises(ValueError, match=r"extra: bias"):
        session.set_parameters(parameters | {"bias": np.zeros(3)})
    ones = {name: np.ones_like(value) for name, value in parameters.items()}
    with pytest.raises(ValueError, match=r"ln_final\.weight"):
        session.set_parameters(ones | {"ln_final.weight": np.zeros(3, np.float32)})
    wrong_type = {name: value + 1 for name, value in parameters.items()}
    wrong_type["lm_head.weight"] = np.zeros(parameters["lm_head.weight"].shape, np.int64)
    with pytest.raises(ValueError, match=r"variable 'lm_head\.weight' is a f32.*, but the value is a i64"):
        session.set_parameters(wrong_type)
    for name, value in session.parameters().items():
        np.testing.assert_array_equal(value, parameters[name])
    with pytest.raises(ValueError, match="no_such"):
        session["no_such"]
    with pytest.raises(ValueError, match="no_such"):
        session["no_such"] = np.zeros(3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors: tensors.pop("layers.0.attn.k_proj.weight"), r"layers\.0\.attn\.k_proj\.weight"),
        (lambda tensors: tensors.update(bias=np.zeros(2, np.float32)), "bias"),
        (lambda tensors: tensors.update({"ln_final.weight": np.zeros(3, np.float32)}), r"ln_final\.weight"),
        (lambda tensors: tensors.update({"ln_final.weight": np.zeros(16)}), r"ln_final\.weight"),
    ],
    ids=["missing", "extra", "shape", "type"],
)
def test_bad_checkpoints_change_nothing(
    session: cs336.Session, tmp_path: Path, change: Callable[[dict[str, np.ndarray]], object], message: str
) -> None:
    path = tmp_path / "model.safetensors"
    session.save(path)
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)
    session.initialize(1)
    before = {name: session[name] for name in session}
    with pytest.raises(ValueError, match=message):
        session.load(path)
    for name, value in before.items():
        assert np.array_equal(session[name], value), name


@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
def test_truncated_checkpoints(session: cs336.Session, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    session.save(path)
    whole = path.read_bytes()
    for size in sorted({0, 1, 7, 8, 100, len(whole) // 2, len(whole) - 1}):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="model"):
            session.load(path)
    path.write_bytes(whole)
    session.load(path)


def test_files_that_are_not_there(session: cs336.Session, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        session.load(tmp_path / "none.safetensors")
    with pytest.raises(FileNotFoundError):
        cs336.Executable.load(tmp_path / "none.cs336x")
    with pytest.raises((OSError, RuntimeError)):
        session.save(tmp_path / "no folder" / "model.safetensors")
    with pytest.raises(FileNotFoundError):
        executable(CONFIG, "train").save(tmp_path / "no folder" / "model.cs336x")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_extension(session: cs336.Session, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="pickle"):
        session.save(tmp_path / "model.pickle")


# --- Executables. ---


def test_damaged_executables(tmp_path: Path) -> None:
    path = tmp_path / "model.cs336x"
    executable(CONFIG, "train").save(path)
    whole = path.read_bytes()
    for size in (0, 3, 16, 100, len(whole) // 2, len(whole) - 1):
        with pytest.raises(ValueError, match=r"\w"):
            cs336.Executable(whole[:size])
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    with pytest.raises(ValueError, match=r"\w"):
        cs336.Executable(bytes(damaged))
    assert cs336.Executable(whole).entries == executable(CONFIG, "train").entries


def test_out_of_memory_is_an_answer() -> None:
    with pytest.raises(MemoryError, match="bytes"):
        open_session(executable(CONFIG, "train"), memory_limit_bytes=4096)


def test_devices_that_are_not_there() -> None:
    program = cs336.compile(cs336.build(cs336.TransformerConfig(16, 24, 1, 2), "forward"))
    with pytest.raises(ValueError, match="unknown device 'gpu'"):
        cs336.Session(program, device="gpu")
    with pytest.raises(RuntimeError, match="compiled for cpu and cannot run on cuda:0"):
        cs336.Session(program, device="cuda")
    program = cs336.compile(
        "func.func @main() attributes {cs336.mode = #cs336.mode<forward>} { return }", device="cuda"
    )
    with pytest.raises(RuntimeError, match="compiled for cuda and cannot run on cpu"):
        cs336.Session(program)
    with pytest.raises(RuntimeError, match=r"no CUDA driver|no device cuda:99"):
        cs336.Session(program, device="cuda:99")


# --- Exceptions. ---

README = Path(__file__).resolve().parents[2] / "python-bindings/README.md"


def documented_exceptions() -> set[str]:
    """Return the exceptions in the README's table of errors."""
    return set(re.findall(r"^\| `(\w+)` \|", README.read_text().partition("## Errors")[2], re.MULTILINE))


def leave_group() -> cs336.distributed.Group:
    """Return a group that is closed."""
    with cs336.distributed.init() as group:
        return group


@pytest.mark.parametrize(
    ("exception", "call"),
    [
        (ValueError, lambda module, _: cs336.compile(module, dump_dir="/proc/x")),
        (ValueError, lambda module, _: cs336.compile(module).save("/dev/full")),
        (ValueError, lambda _, session: session.save("/dev/full")),
        (ValueError, lambda module, _: cs336.Session(cs336.compile(module), device="gpu")),
        (TypeError, lambda module, _: cs336.Session(module)),
        (MemoryError, lambda module, _: cs336.Session(cs336.compile(module), memory_limit_bytes=10)),
        (RuntimeError, lambda module, _: cs336.Session(cs336.compile(module)).run("train", batch())),
        (RuntimeError, lambda module, _: cs336.Session(cs336.compile(module), device="cuda")),
        (RuntimeError, lambda _, session: session.previous_output("train", "loss")),
        (RuntimeError, lambda *_: leave_group().barrier()),
        (OSError, lambda _, session: session.profile("train", batch(), trace="/dev/full")),
        (FileNotFoundError, lambda _, session: session.save("/proc/x.npz")),
        (FileNotFoundError, lambda *_: cs336.distributed.launch(["/no/such/program"], 1)),
    ],
)
def test_exceptions_are_those_of_the_readme(
    exception: type[Exception], call: Callable[[cs336.Module, cs336.Session], object]
) -> None:
    """The README has a row of the exception, or names it in the row of its base class."""
    module = cs336.build(cs336.TransformerConfig(16, 24, 1, 2, 31, 8, 2), "train")
    session = cs336.Session(cs336.compile(module))
    session.initialize()
    with pytest.raises(exception) as raised:
        call(module, session)
    assert type(raised.value) is exception
    assert exception.__name__ in documented_exceptions() or f"`{exception.__name__}`" in README.read_text()
