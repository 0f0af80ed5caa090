"""Files that the package reads and writes: completely or not at all, and under the given name."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import cs336
import numpy as np
import pytest

CONFIG = cs336.TransformerConfig(
    d_model=16, d_ff=32, num_layers=1, num_heads=2, vocab_size=16, context_length=8, batch_size=1
)
Writer = Callable[[Path], None]


@cache
def program() -> cs336.Executable:
    return cs336.compile(cs336.build(CONFIG, "train"))


@pytest.fixture(scope="module")
def session() -> cs336.Session:
    loaded = cs336.Session(program())
    loaded.initialize(0)
    return loaded


@pytest.fixture(params=["npz", "safetensors", "cs336x", "bytes"])
def writer(request: pytest.FixtureRequest, session: cs336.Session, tmp_path: Path) -> tuple[Path, Writer]:
    """Return a path, and a writer to a path with the same ending."""
    writers: dict[str, Writer] = {
        "npz": session.save,
        "safetensors": session.save,
        "cs336x": program().save,
        "bytes": lambda path: cs336.write_file(path, b"new"),
    }
    return tmp_path / f"file.{request.param}", writers[request.param]


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.parent.iterdir())


def test_a_file_keeps_its_permissions(writer: tuple[Path, Writer]) -> None:
    path, write = writer
    before = os.umask(0o027)
    try:
        write(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(path) == [path.name]


def test_a_nul_in_a_path_is_refused(writer: tuple[Path, Writer]) -> None:
    path, write = writer
    with pytest.raises(ValueError, match="NUL"):
        write(path.with_name(f"other\0{path.name}"))
    assert names(path) == []


def test_reading_refuses_a_nul(session: cs336.Session, tmp_path: Path) -> None:
    session.save(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="NUL"):
        session.load(f"{tmp_path}/a.npz\0.npz")
    with pytest.raises(ValueError, match="NUL"):
        cs336.Executable.load(f"{tmp_path}/a.npz\0")
    with pytest.raises(ValueError, match="NUL"):
        cs336.compile(cs336.build(CONFIG, "loss"), dump_dir=f"{tmp_path}/dump\0x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]


def test_names_that_were_predictable_are_not_followed(writer: tuple[Path, Writer]) -> None:
    path, write = writer
    precious = path.with_name("precious")
    precious.write_text("kept")
    path.with_name(f"{path.name}.{os.getpid()}.tmp").symlink_to(precious)
    write(path)
    assert precious.read_text() == "kept"
    assert path.stat().st_size > 0


def test_what_a_killed_writer_left_is_removed(writer: tuple[Path, Writer]) -> None:
    path, write = writer
    left = path.with_name(f"{path.name}.0123456789abcdef.tmp")
    left.write_text("half")
    write(path)
    assert names(path) == [path.name]


def test_devices_and_pipes_are_refused(writer: tuple[Path, Writer]) -> None:
    path, write = writer
    os.mkfifo(path)
    with pytest.raises(ValueError, match="not a regular file"):
        write(path)
    with pytest.raises(ValueError, match="not a regular file"):
        cs336.Executable.load(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="not a regular file"):
        write(path)
    with pytest.raises(ValueError, match="not a regular file"):
        cs336.Executable.load(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ValueError, match="not a regular file"):
        write(path)


def test_a_name_need_not_be_utf8(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.cs336x")
    program().save(path)
    assert cs336.Executable.load(path).entries == program().entries


def test_a_full_disk_is_an_os_error(session: cs336.Session, tmp_path: Path) -> None:
    """A limit on the size of files simulates the full disk."""
    path = tmp_path / "model.safetensors"
    session.save(path)
    before = path.read_bytes()
    script = f"""
import resource, signal, sys
import cs336
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
session = cs336.Session(cs336.Executable.load(sys.argv[1]), device="cpu")
session.initialize(1)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    session.save({str(path)!r})
except OSError as error:
    assert "cannot write" in str(error), error
else:
    raise AssertionError("written")
"""
    saved = tmp_path / "model.cs336x"
    program().save(saved)
    environment = os.environ | {"PYTHONPATH": str(Path(cs336.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", script, saved], check=True, env=environment)
    assert path.read_bytes() == before
    assert names(path) == ["model.cs336x", "model.safetensors"]


def test_a_writer_that_is_killed_leaves_the_old_file(session: cs336.Session, tmp_path: Path) -> None:
    """Kill a process that saves repeatedly: the file is whole, and the next save leaves no other file."""
    path, saved = tmp_path / "model.safetensors", tmp_path / "model.cs336x"
    program().save(saved)
    script = (
        "import sys, cs336\n"
        "session = cs336.Session(cs336.Executable.load(sys.argv[1]), device='cpu')\n"
        "session.initialize(int(sys.argv[3]))\n"
        "print('ready', flush=True)\n"
        "while True: session.save(sys.argv[2])\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(cs336.__file__).parents[1])}
    for seed in range(3):
        command = [sys.executable, "-c", script, str(saved), str(path), str(seed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            while not path.exists():
                pass
            child.send_signal(signal.SIGKILL)
        session.load(path)
    session.save(path)
    assert names(path) == ["model.cs336x", "model.safetensors"]


def test_readers_of_a_file_that_is_rewritten_get_an_answer(session: cs336.Session, tmp_path: Path) -> None:
    """Write in place, so that the file is shorter at times. A mapped file would end the process by a signal."""
    path = tmp_path / "model.safetensors"
    session.save(path)
    whole = path.read_bytes()
    script = "import sys\ndata = open(sys.argv[1], 'rb').read()\nwhile True: open(sys.argv[1], 'wb').write(data)\n"
    with subprocess.Popen([sys.executable, "-c", script, str(path)]) as rewriter:
        answers = set()
        for _ in range(200):
            try:
                session.load(path)
                answers.add("loaded")
            except ValueError:
                answers.add("refused")
        rewriter.kill()
    path.write_bytes(whole)
    session.load(path)
    assert answers
    np.testing.assert_array_equal(session["adamw.step"], 0)
