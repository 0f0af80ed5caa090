"""Variables and outputs of a session as PyTorch tensors, and the other way round, on the device of these tests."""

from __future__ import annotations

import contextlib

import cs336
import numpy as np
import pytest
from compiled_model import small_batch
from device import DEVICE, compile_program, open_session

torch = pytest.importorskip("torch")

CONFIG = cs336.TransformerConfig(16, 24, 2, 2, vocab_size=31, context_length=7, batch_size=2)
# A parameter of its own, and rows of a packed one.
PARAMETERS = ["lm_head.weight", "layers.1.attn.k_proj.weight"]


@pytest.fixture
def session() -> cs336.Session:
    if DEVICE != "cpu" and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no GPU")
    session = open_session(compile_program(cs336.build(CONFIG, "forward_backward")))
    session.initialize(0)
    return session


def synchronize() -> None:
    """Wait for PyTorch, which works in a stream of its own."""
    if DEVICE != "cpu":
        torch.cuda.synchronize()


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_variable_lies_where_the_session_has_it(session: cs336.Session, name: str) -> None:
    shared = torch.from_dlpack(session.share(name))
    assert shared.device.type == DEVICE.split(":")[0]
    assert shared.data_ptr() == torch.from_dlpack(session.share(name)).data_ptr()
    assert np.array_equal(shared.cpu().numpy(), session[name])


@pytest.mark.parametrize("name", PARAMETERS)
def test_what_either_side_writes_the_other_reads(session: cs336.Session, name: str) -> None:
    shared = torch.from_dlpack(session.share(name))
    session[name] = np.full(shared.shape, 7.0)
    assert torch.all(shared == 7)
    shared[1] = torch.arange(shared.shape[1], dtype=shared.dtype)
    synchronize()
    expected = np.full(shared.shape, 7.0)
    expected[1] = np.arange(shared.shape[1])
    assert np.array_equal(session[name], expected)


def test_a_run_computes_with_what_pytorch_wrote(session: cs336.Session) -> None:
    before = session.run("forward_backward", small_batch())["loss"]
    weight = torch.from_dlpack(session.share("lm_head.weight"))
    weight.zero_()
    synchronize()
    session.prepare()
    # Equal logits: all tokens are equally likely.
    assert session.run("forward_backward", small_batch())["loss"] == pytest.approx(np.log(CONFIG.vocab_size), rel=1e-6)
    assert before != pytest.approx(np.log(CONFIG.vocab_size), rel=1e-6)


@pytest.mark.parametrize("name", ["loss", *PARAMETERS])
def test_an_output_is_overwritten_by_the_next_run(session: cs336.Session, name: str) -> None:
    first = session.run("forward_backward", small_batch())[name]
    shared = torch.from_dlpack(session.share(name, entry="forward_backward"))
    assert np.array_equal(shared.cpu().numpy(), first)
    assert shared.data_ptr() == torch.from_dlpack(session.share(name, entry="forward_backward")).data_ptr()
    session["lm_head.weight"] = session["lm_head.weight"] * 2
    second = session.run("forward_backward", small_batch())[name]
    session.synchronize()
    assert not np.array_equal(first, second)
    assert np.array_equal(shared.cpu().numpy(), second)


def test_another_entry_takes_the_place_of_outputs() -> None:
    if DEVICE != "cpu" and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no GPU")
    session = open_session(compile_program(cs336.build(CONFIG, "train")))
    session.initialize(0)
    with pytest.raises(RuntimeError, match=r"output 'loss' of entry 'train' .* the entry has not run"):
        session.share("loss", entry="train")
    loss = session.run("train", small_batch())["loss"]
    kept = torch.from_dlpack(session.share("loss", entry="train")).clone()
    synchronize()
    session.run("loss", small_batch())
    with pytest.raises(RuntimeError, match=r"output 'loss' of entry 'train' .* entry 'loss' has run since"):
        session.share("loss", entry="train")
    assert kept.cpu().numpy() == loss


def test_tensors_outlive_the_session(session: cs336.Session) -> None:
    shared = torch.from_dlpack(session.share("lm_head.weight"))
    values = session["lm_head.weight"]
    del session
    assert np.array_equal(shared.cpu().numpy(), values)


def tensors() -> dict[str, torch.Tensor]:
    """Return the batch on the session's device."""
    return {name: torch.from_numpy(array).to(DEVICE) for name, array in small_batch().items()}


def test_inputs_come_from_where_pytorch_has_them(session: cs336.Session) -> None:
    expected = session.run("forward_backward", small_batch())
    given = session.run("forward_backward", tensors())
    for name, value in expected.items():
        assert np.array_equal(value, given[name]), name


def test_inputs_are_what_pytorch_has_yet_to_write(session: cs336.Session) -> None:
    expected = session.run("forward_backward", small_batch())["loss"]
    given = {name: torch.zeros_like(tensor) for name, tensor in tensors().items()}
    large = torch.ones(2048, 2048, device=DEVICE)
    # Work in a stream of its own, after work that takes longer than the session needs to reach it.
    with torch.cuda.stream(torch.cuda.Stream()) if DEVICE != "cpu" else contextlib.nullcontext():
        synchronize()
        for _ in range(8):
            large = large @ large / 2048
        for name, tensor in tensors().items():
            given[name].copy_(tensor)
        loss = session.run("forward_backward", given)["loss"]
        # It has been read: later changes do not matter.
        given["tokens"].zero_()
    assert loss == expected


def test_variables_come_from_where_pytorch_has_them(session: cs336.Session) -> None:
    for name in PARAMETERS:
        values = torch.randn(session[name].shape, device=DEVICE)
        session[name] = values
        assert np.array_equal(session[name], values.cpu().numpy())
    before = session.run("forward_backward", small_batch())["loss"]
    session["lm_head.weight"] = torch.zeros(31, 16, device=DEVICE)
    assert session.run("forward_backward", tensors())["loss"] == pytest.approx(np.log(CONFIG.vocab_size), rel=1e-6)
    assert before != pytest.approx(np.log(CONFIG.vocab_size), rel=1e-6)


def test_a_token_of_pytorch_out_of_bound_is_refused(session: cs336.Session) -> None:
    given = tensors()
    given["tokens"][1, 2] = CONFIG.vocab_size
    with pytest.raises(ValueError, match=r"input 'tokens' holds 31 at \[1, 2\], outside of \[0, 31\)"):
        session.run("forward_backward", given)


@pytest.mark.skipif(DEVICE == "cpu", reason="the host converts values")
def test_a_gpu_takes_exact_and_dense_tensors(session: cs336.Session) -> None:
    rows = torch.arange(16, device=DEVICE).reshape(2, 8)
    with pytest.raises(ValueError, match=r"input 'tokens': .* is not dense .* tensor\.contiguous\(\)"):
        session.run("forward_backward", {"tokens": rows[:, :-1], "targets": rows[:, 1:].contiguous()})
    given = tensors()
    with pytest.raises(ValueError, match=r"'tokens' is a i64\[2, 7\], but the value is a i32\[2, 7\]"):
        session.run("forward_backward", {**given, "tokens": given["tokens"].int()})


@pytest.mark.skipif(DEVICE == "cpu" or torch.cuda.device_count() < 2, reason="requires two GPUs")
def test_a_tensor_of_another_gpu_is_refused(session: cs336.Session) -> None:
    other = next(index for index in range(2) if session.device != f"cuda:{index}")
    with pytest.raises(
        ValueError, match=rf"input 'tokens' lies on cuda:{other}, but the session runs on {session.device}"
    ):
        session.run("forward_backward", {name: tensor.to(f"cuda:{other}") for name, tensor in tensors().items()})


@pytest.mark.skipif(DEVICE != "cpu" or not torch.cuda.is_available(), reason="requires a GPU and a session without one")
def test_a_tensor_of_a_gpu_is_refused_on_the_cpu(session: cs336.Session) -> None:
    with pytest.raises(ValueError, match=r"'tokens' lies on cuda:0, but the session runs on cpu: .*tensor\.cpu\(\)"):
        session.run("forward_backward", {name: tensor.cuda() for name, tensor in tensors().items()})
