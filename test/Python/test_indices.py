"""Indices stay in bounds: by the bound of an input, by the operations that compute them, or by a check in each run."""

from __future__ import annotations

from typing import Any

import cs336
import numpy as np
import pytest
from device import DEVICE, compile_program, open_session

ROWS, COLUMNS = 97, 5
TABLE = np.random.default_rng(0).standard_normal((ROWS, COLUMNS), np.float32)
FAR = [ROWS, -1, 1 << 40, -(1 << 62), np.iinfo(np.int64).max]


def gather(body: str, *arguments: str, types: str = "tensor<2x3xi64>") -> str:
    """Return a program that returns the rows of the table at `%i`, which the body computes."""
    inputs = ", ".join([f'%t: tensor<{ROWS}x{COLUMNS}xf32> {{cs336.kind = "input", cs336.name = "t"}}', *arguments])
    return f"""
func.func @forward({inputs}) -> tensor<2x3x{COLUMNS}xf32> {{
  {body}
  %y = cs336.embedding %t, %i : tensor<{ROWS}x{COLUMNS}xf32>, {types} -> tensor<2x3x{COLUMNS}xf32> loc("rows")
  return %y : tensor<2x3x{COLUMNS}xf32>
}}
"""


def given(name: str, element: str = "i64") -> str:
    return f'%{name}: tensor<2x3x{element}> {{cs336.kind = "input", cs336.name = "{name}"}}'


def with_value(position: tuple[int, int], value: Any, dtype: type = np.int64) -> np.ndarray:
    array = np.arange(6, dtype=dtype).reshape(2, 3)
    array[position] = value
    return array


def result(session: cs336.Session, **inputs: np.ndarray) -> np.ndarray:
    (value,) = session.run("forward", {"t": TABLE, **inputs}).values()
    return value


@pytest.mark.parametrize("body", ["%i = cs336.barrier %a : tensor<2x3xi64>", "%i = cs336.neg %b : tensor<2x3xi64>"])
@pytest.mark.parametrize("value", FAR)
def test_what_an_input_gives_is_checked(body: str, value: int) -> None:
    """An input is checked before the run, a computed index during the run."""
    is_computed = "neg" in body
    session = open_session(compile_program(gather(body, given("b" if is_computed else "a"))))
    name, sign = ("b", -1) if is_computed else ("a", 1)
    good = with_value((1, 1), ROWS - 1)
    np.testing.assert_array_equal(result(session, **{name: sign * good}), TABLE[good])
    what = "check_bound 'check_bound_rows'.*its source" if is_computed else f"input '{name}'"
    with pytest.raises(ValueError, match=rf"{what} holds {value} at \[1, 2\], outside of \[0, {ROWS}\)"):
        result(session, **{name: sign * with_value((1, 2), value)})
    if DEVICE == "cpu":
        np.testing.assert_array_equal(result(session, **{name: sign * good}), TABLE[good])


@pytest.mark.parametrize(("dtype", "element"), [(np.int32, "i32"), (np.int64, "i64")])
def test_clamped_indices_need_no_check(dtype: type, element: str) -> None:
    type_ = f"tensor<2x3x{element}>"
    body = f"""
  %zero = cs336.constant dense<0> : {type_}
  %last = cs336.constant dense<{ROWS - 1}> : {type_}
  %above = cs336.max %a, %zero : {type_}
  %i = cs336.min %above, %last : {type_}"""
    program = compile_program(gather(body, given("a", element), types=type_))
    session = open_session(program)
    limits = np.iinfo(dtype)
    for value in (0, ROWS, -1, limits.max, limits.min):
        indices = with_value((0, 1), value, dtype)
        np.testing.assert_array_equal(result(session, a=indices), TABLE[np.clip(indices, 0, ROWS - 1)])


@pytest.mark.parametrize("value", [96.9, -0.9, 97.0, -1.0, 1e30, np.inf])
def test_converted_numbers_are_checked(value: float) -> None:
    """Clamping does not help: the conversion of a number without an integer is undefined."""
    body = """
  %n = cs336.cast %a : tensor<2x3xf32> -> tensor<2x3xi64>
  %zero = cs336.constant dense<0> : tensor<2x3xi64>
  %i = cs336.max %n, %zero : tensor<2x3xi64>"""
    session = open_session(compile_program(gather(body, given("a", "f32"))))
    numbers = with_value((0, 2), value, np.float32)
    if value < ROWS:
        expected = np.maximum(numbers.astype(np.int64), 0)
        np.testing.assert_array_equal(result(session, a=numbers), TABLE[expected])
    elif value == ROWS:
        with pytest.raises(ValueError, match=rf"holds {ROWS} at \[0, 2\], outside of \[0, {ROWS}\)"):
            result(session, a=numbers)
    else:
        # The run ends, regardless of the integer that the machine converts it to.
        try:
            result(session, a=numbers)
        except ValueError as error:
            assert "at [0, 2], outside of" in str(error)


def test_integers_of_a_variable_are_checked() -> None:
    body = "%i = cs336.barrier %v : tensor<2x3xi64>"
    variable = '%v: tensor<2x3xi64> {cs336.kind = "state", cs336.name = "v"}'
    session = open_session(compile_program(gather(body, variable)))
    session.initialize(0)
    good = with_value((0, 0), ROWS - 1)
    session["v"] = good
    np.testing.assert_array_equal(result(session), TABLE[good])
    session["v"] = with_value((0, 0), ROWS)
    with pytest.raises(ValueError, match=rf"holds {ROWS} at \[0, 0\]"):
        result(session)


@pytest.mark.parametrize("fusion", ["none", "all"])
def test_one_kernel_computes_indices_of_two_tables(fusion: str) -> None:
    """Its launches read and write integers of different ranges."""
    sizes = {"a": ROWS, "b": 5}
    inputs = [given(name)[:-1] + f", cs336.bound = {rows - 1} : i64}}" for name, rows in sizes.items()]
    program = f"""
func.func @forward(%t: tensor<{ROWS}x{COLUMNS}xf32> {{cs336.kind = "input", cs336.name = "t"}}, {", ".join(inputs)})
    -> (tensor<2x3x{COLUMNS}xf32>, tensor<2x3x{COLUMNS}xf32>) {{
  %one = cs336.constant dense<1> : tensor<2x3xi64>
  %u = cs336.slice %t offsets = [7, 0] : tensor<{ROWS}x{COLUMNS}xf32> -> tensor<5x{COLUMNS}xf32>
  %i = cs336.add %a, %one : tensor<2x3xi64>
  %j = cs336.add %b, %one : tensor<2x3xi64>
  %y = cs336.embedding %t, %i : tensor<{ROWS}x{COLUMNS}xf32>, tensor<2x3xi64> -> tensor<2x3x{COLUMNS}xf32>
  %z = cs336.embedding %u, %j : tensor<5x{COLUMNS}xf32>, tensor<2x3xi64> -> tensor<2x3x{COLUMNS}xf32>
  return %y, %z : tensor<2x3x{COLUMNS}xf32>, tensor<2x3x{COLUMNS}xf32>
}}
"""
    session = open_session(compile_program(program, fusion=fusion))
    a, b = np.array([[0, 1, 95], [3, 4, 5]]), np.array([[0, 1, 2], [3, 0, 1]])
    y, z = session.run("forward", {"t": TABLE, "a": a, "b": b}).values()
    np.testing.assert_array_equal(y, TABLE[a + 1])
    np.testing.assert_array_equal(z, TABLE[7:12][b + 1])


TRAIN = """
func.func @train(
    %t: tensor<5x3xf32> {cs336.kind = "parameter", cs336.name = "t", cs336.init = #cs336.init<ones>},
    %a: tensor<4xi64> {cs336.kind = "input", cs336.name = "a"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<lr = 0.1>} {
  %one = cs336.constant dense<1> : tensor<4xi64>
  %i = cs336.add %a, %one : tensor<4xi64>
  %x = cs336.embedding %t, %i : tensor<5x3xf32>, tensor<4xi64> -> tensor<4x3xf32> loc("layers.0.rows")
  %c = cs336.cross_entropy %x, %i : tensor<4x3xf32>, tensor<4xi64> -> tensor<f32> loc("loss")
  return %c : tensor<f32>
}
"""


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU runs ahead, and the session ends")
@pytest.mark.parametrize("fusion", ["none", "all"])
def test_a_failed_step_leaves_the_parameters(fusion: str) -> None:
    session = open_session(compile_program(TRAIN, fusion=fusion))
    session.initialize(0)
    session.run("train", {"a": np.array([0, 1, 1, -1])})
    before = session["t"].copy()
    # First a row that is not in the table, then one that is, but whose class is not in the logits.
    for bad, bound in ((4, 5), (2, 3)):
        with pytest.raises(ValueError, match=rf"holds {bad + 1} at \[2\], outside of \[0, {bound}\)"):
            session.run("train", {"a": np.array([0, 1, bad, -1])})
        np.testing.assert_array_equal(session["t"], before)
    session.run("train", {"a": np.array([0, 1, 1, -1])})
    assert not np.array_equal(session["t"], before)


def test_targets_of_an_unbounded_input_are_checked() -> None:
    """Targets out of bounds would select no logit, and the loss would be wrong."""
    program = """
func.func @loss(%x: tensor<2x3xf32>, %targets: tensor<2xi64>) -> tensor<f32> {
  %loss = cs336.cross_entropy %x, %targets : tensor<2x3xf32>, tensor<2xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
"""
    session = open_session(compile_program(program))
    x = np.zeros((2, 3), np.float32)
    (loss,) = session.run("loss", {"arg0": x, "arg1": np.array([0, 2])}).values()
    np.testing.assert_allclose(loss, np.log(3), rtol=1e-6)
    with pytest.raises(ValueError, match=r"input 'arg1' holds 3 at \[1\], outside of \[0, 3\)"):
        session.run("loss", {"arg0": x, "arg1": np.array([0, 3])})


@pytest.mark.parametrize(
    "body",
    [
        f"%i = cs336.constant dense<{ROWS}> : tensor<2x3xi64>",
        "%i = cs336.constant dense<[[0, 1, 2], [3, -4, 5]]> : tensor<2x3xi64>",
    ],
)
def test_constants_are_checked_by_the_compiler(body: str) -> None:
    with pytest.raises(ValueError, match=r"a constant that contains (97 at \[0, 0\]|-4 at \[1, 1\])"):
        compile_program(gather(body))


def test_planned_programs_are_checked_too() -> None:
    """Buffers and commands in a user's own order: their launches are verified like those of the pipeline."""
    with pytest.raises(ValueError, match=r'input "ids", which has no bound: write bound = 97'):
        compile_program("""
exec.kernel @rows(%table: tensor<97x4xf32>, %ids: tensor<3xi64>)
    : (memref<97x4xf32>, memref<3xi64>) -> memref<3x4xf32> {
  %0 = cs336.embedding %table, %ids : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  exec.yield %0 : tensor<3x4xf32>
}
exec.entry @f mode<forward> arena_bytes = 64 alignment = 64 {
  %table = exec.input "table" : memref<97x4xf32>
  %ids = exec.input "ids" : memref<3xi64>
  %y = exec.output "y" output offset = 0 : memref<3x4xf32>
  exec.launch @rows ins(%table, %ids : memref<97x4xf32>, memref<3xi64>) outs(%y : memref<3x4xf32>)
}
""")
