"""Outputs of the run before the last one, which a training loop reads without waiting for the last one."""

from __future__ import annotations

import cs336
import pytest
from compiled_model import small_batch
from device import compile_program, open_session

CONFIG = cs336.TransformerConfig(64, 96, 1, 2, vocab_size=31, context_length=7, batch_size=2)


@pytest.fixture
def session() -> cs336.Session:
    result = open_session(compile_program(cs336.build(CONFIG, "train")))
    result.initialize(0)
    return result


def test_the_loss_of_the_step_before(session: cs336.Session) -> None:
    losses = [session.run("train", small_batch())["loss"] for _ in range(4)]
    assert len({float(loss) for loss in losses}) == 4
    session.initialize(0)
    session.run("train", small_batch(), outputs=[])
    for step in range(1, 4):
        session.run("train", small_batch(), outputs=[])
        assert session.previous_output("train", "loss") == losses[step - 1]


def test_an_evaluation_between_steps_does_not_count(session: cs336.Session) -> None:
    first = session.run("train", small_batch())["loss"]
    session.run("train", small_batch())
    session.run("loss", small_batch())
    assert session.previous_output("train", "loss") == first


def test_what_is_not_kept_is_an_error(session: cs336.Session) -> None:
    session.run("train", small_batch())
    with pytest.raises(RuntimeError, match=r"'loss' of the run before the last: the entry has only run 1 times"):
        session.previous_output("train", "loss")
    with pytest.raises(ValueError, match="entry 'train' has no output 'nothing'"):
        session.previous_output("train", "nothing")
    with pytest.raises(ValueError, match="the executable has no entry 'nothing'"):
        session.previous_output("nothing", "loss")
