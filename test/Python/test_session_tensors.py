"""Tensors of other libraries as inputs and variables, by DLPack; `test_dlpack.py` does the same with PyTorch's."""

from __future__ import annotations

from typing import Any

import cs336
import numpy as np
import pytest
from compiled_model import small_batch
from cs336._arrays import as_input
from device import DEVICE, compile_program, open_session

CONFIG = cs336.TransformerConfig(16, 24, 2, 2, vocab_size=31, context_length=7, batch_size=2)

# Its inputs have no bound, so that a GPU's inputs need not be copied to the host.
PROGRAM = """
func.func @forward(%x: tensor<5x16xf32>, %w: tensor<16x16xf32>) -> tensor<5x16xf32> {
  %0 = cs336.matmul %x, %w : tensor<5x16xf32>, tensor<16x16xf32> -> tensor<5x16xf32>
  return %0 : tensor<5x16xf32>
}
"""


class Tensor:
    """A library's tensor: only DLPack. It claims to be on a given device."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self._array = array
        self._device = device

        self.streams: list[Any] = []

    def __dlpack__(self, stream: Any = None, **options: Any) -> Any:
        self.streams.append(stream)
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


@pytest.fixture(scope="module")
def session() -> cs336.Session:
    result = open_session(compile_program(cs336.build(CONFIG, "forward_backward")))
    result.initialize(0)
    return result


def test_inputs_come_from_other_libraries(session: cs336.Session) -> None:
    expected = session.run("forward_backward", small_batch())
    given = session.run("forward_backward", {name: Tensor(array) for name, array in small_batch().items()})
    assert expected.keys() == given.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(value, given[name], err_msg=name)


def test_rows_with_gaps_and_narrow_integers_are_converted(session: cs336.Session) -> None:
    rows = np.arange(16, dtype=np.int32).reshape(2, 8)
    expected = session.run("forward_backward", {"tokens": rows[:, :-1], "targets": rows[:, 1:]})["loss"]
    given = {"tokens": Tensor(rows[:, :-1]), "targets": Tensor(rows[:, 1:])}
    assert session.run("forward_backward", given)["loss"] == expected


def test_variables_come_from_other_libraries(session: cs336.Session) -> None:
    values = np.random.default_rng(0).standard_normal(session["lm_head.weight"].shape, np.float32)
    session["lm_head.weight"] = Tensor(values)
    np.testing.assert_array_equal(session["lm_head.weight"], values)
    session["lm_head.weight"] = Tensor(values.T.copy().T.astype(np.float64))
    np.testing.assert_array_equal(session["lm_head.weight"], values)


def test_a_session_takes_what_another_shares() -> None:
    """On a GPU the values stay there: neither session has them on the host."""
    giver = open_session(compile_program(cs336.build(CONFIG, "forward_backward")))
    taker = open_session(compile_program(PROGRAM))
    giver.initialize(1)
    x = np.random.default_rng(0).standard_normal((5, 16), np.float32)
    name = "layers.0.attn.output_proj.weight"
    for scale in (1, 2, 3):
        giver[name] = giver[name] * scale
        (result,) = taker.run("forward", {"arg0": x, "arg1": giver.share(name)}).values()
        np.testing.assert_allclose(result, x @ giver[name], rtol=1e-5, atol=1e-5)
    other = open_session(compile_program(cs336.build(CONFIG, "forward_backward")))
    other.initialize(2)
    assert not np.array_equal(other[name], giver[name])
    other[name] = giver.share(name)
    np.testing.assert_array_equal(other[name], giver[name])


def test_variables_of_bf16_pass_without_numpy() -> None:
    executable = compile_program(cs336.build(CONFIG, "train"), dtype="bf16")
    name = next(name for name, variable in executable.variables.items() if variable.dtype == "bf16")
    giver, taker = open_session(executable), open_session(executable)
    giver.initialize(1)
    taker.initialize(2)
    assert not np.array_equal(giver[name], taker[name])
    taker[name] = giver.share(name)
    np.testing.assert_array_equal(giver[name], taker[name])
    with pytest.raises(ValueError, match=r"'lm_head\.weight' is a f32\[31, 16\], but the value is a bf16"):
        taker["lm_head.weight"] = giver.share(name)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Tensor(np.zeros((2, 6), np.int64)), r"input 'tokens' is a i64\[2, 7\], but the value is a i64\[2, 6\]"),
        (Tensor(np.zeros((2, 7), np.float32)), r"input 'tokens' is a i64\[2, 7\], but the value is a f32\[2, 7\]"),
        (Tensor(np.full((2, 7), 31)), r"input 'tokens' holds 31 at \[0, 0\], outside of \[0, 31\)"),
        (
            Tensor(np.zeros((2, 7), np.int64), (2, 9)),
            r"input 'tokens' lies on cuda:9, but the session runs on \S+: ",
        ),
        (Tensor(np.zeros((2, 7), np.int64), (8, 0)), r"input 'tokens' lies on a device of DLPack's kind 8, but"),
    ],
    ids=["shape", "type", "token too large", "another GPU", "another kind of device"],
)
def test_wrong_tensors_are_refused(session: cs336.Session, tensor: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        session.run("forward_backward", {**small_batch(), "tokens": tensor})


def test_a_gpus_library_is_asked_to_order_its_work() -> None:
    """The runtime uses the legacy default stream, 1 in DLPack; `CudaSessionTest` proves it."""
    tensor = Tensor(np.zeros((2, 7), np.float32), (2, 1))
    assert type(as_input(tensor, "i64", (2, 7), "cuda:1", "input 'x'")).__name__ == "PyCapsule"
    assert tensor.streams == [1]
    with pytest.raises(ValueError, match=r"'x' lies on cuda:1, but the session runs on cuda:0.*tensor\.to\('cuda:0'\)"):
        as_input(tensor, "i64", (2, 7), "cuda:0", "input 'x'")


def test_a_type_that_no_tensor_has_is_refused(session: cs336.Session) -> None:
    with pytest.raises(TypeError, match=r"variable 'lm_head\.weight' is a f32.* complex64: arrays must be"):
        session["lm_head.weight"] = Tensor(np.zeros((31, 16), np.complex64))


def test_a_variable_on_another_gpu_is_refused(session: cs336.Session) -> None:
    with pytest.raises(ValueError, match=r"variable 'lm_head\.weight' lies on cuda:9"):
        session["lm_head.weight"] = Tensor(np.zeros((31, 16), np.float32), (2, 9))


def test_a_session_says_where_it_runs(session: cs336.Session) -> None:
    assert session.device == {"cuda": "cuda:0"}.get(DEVICE, DEVICE)


@pytest.mark.parametrize("poison", [False, True])
def test_an_output_is_an_input_of_the_next_run(poison: bool) -> None:
    """Also if memory is poisoned, of which the output is a part."""
    program = """func.func @f(%x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"})
        -> (tensor<4xf32> {cs336.kind = "output", cs336.name = "y"}) {
      %0 = cs336.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    session = cs336.Session(compile_program(program), device=DEVICE, poison_memory=poison)
    session.run("f", {"x": np.ones(4, np.float32)})
    shared = session.share("y", "f")
    session.synchronize()
    assert session.run("f", {"x": shared})["y"].tolist() == [4, 4, 4, 4]
