"""Ranks as processes: the same bits as ranks of one process, and an end in time after any fault of a rank."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cs336
import pytest
from device import DEVICE
from rank_runs import assert_ranks_equal, run_ranks, split_batch
from test_data_parallel import CASES, MODES, OPTIONS, batch, check_gradients, parameters, program
from test_distributed import ENVIRONMENT, LAUNCH

pytestmark = pytest.mark.skipif(DEVICE != "cpu", reason="ranks run on the CPU")

TOKEN = "0123456789abcdef" * 2
LIMIT = 60.0
"""The seconds after which a run that does not end fails a test."""
TIMEOUT = 5.0
"""The `--rank-timeout` of runs with a fault, in which all of their processes must end."""
SHARED_MEMORY = Path("/dev/shm")


@pytest.mark.parametrize(("dtype", "ranks"), CASES)
@pytest.mark.parametrize("mode", MODES)
def test_gradients_are_those_of_the_whole_batch(tmp_path: Path, mode: Any, dtype: Any, ranks: int) -> None:
    executable = cs336.compile(program("forward_backward", ranks), dtype=dtype, ranks=ranks, distribute=mode)
    parts = split_batch(batch(), ranks)
    check_gradients(run_ranks(tmp_path, executable, parts, parameters(), flag="--nproc"), dtype)


@pytest.mark.parametrize("name", OPTIONS)
def test_five_steps_have_the_bits_of_threads(tmp_path: Path, name: str) -> None:
    executable = cs336.compile(program("train", 2, max_norm=0.1), ranks=2, distribute="overlap", **OPTIONS[name])
    results = [
        run_ranks(tmp_path, executable, split_batch(batch(), 2), parameters(), steps=5, flag=flag)
        for flag in ("--ranks", "--nproc")
    ]
    assert_ranks_equal([*results[0], *results[1]])


#: Runs that fail.


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return two different programs for two ranks."""
    folder = tmp_path_factory.mktemp("programs")
    paths = []
    for name, mode in (("flat", "flat"), ("bucket", "bucket")):
        paths.append(str(folder / f"{name}.cs336x"))
        cs336.compile(program("train", 2), ranks=2, distribute=mode).save(paths[-1])
    return paths


ENDLESS = ["--random-inputs", "--steps", "1000000000", "--num-threads", "1"]
LIMITED = ["--rank-timeout", str(TIMEOUT)]
SHORT = ["--random-inputs", "--steps", "2", "--num-threads", "1", *LIMITED]


class Run:
    """A run of several ranks that goes on until it is ended."""

    def __init__(self, folder: Path, command: list[str], timeout: float = TIMEOUT) -> None:
        self.timeout = timeout
        self.output = folder / "output.txt"
        with self.output.open("w") as file:
            self.process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def text(self) -> str:
        return self.output.read_text(errors="replace")

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + LIMIT
        while text not in self.text():
            assert self.process.poll() is None, self.text()[-2000:]
            assert time.monotonic() < end, f"no '{text}' in {self.text()[-2000:]}"
            time.sleep(0.02)

    def ranks(self) -> list[int]:
        """Return the processes of the ranks, in their order."""
        return children(self.process.pid)

    def end(self) -> str:
        """Wait for the end and return the last lines."""
        self.process.wait(LIMIT)
        return self.text()[-3000:]

    def inject(self, fault: Callable[[], object]) -> str:
        """Cause a fault, after which the run must end within its timeout, and return the last lines."""
        begin = time.monotonic()
        fault()
        text = self.end()
        assert time.monotonic() - begin < self.timeout
        return text


def children(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ports_of(pid: int) -> set[int]:
    """Return the TCP ports on which a process listens."""
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(str(link.readlink()))
        except OSError:
            continue
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def run(tmp_path: Path, programs: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Start a run, of which no process, port or file may be left."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    shared = set(SHARED_MEMORY.iterdir())
    started = Run(tmp_path, ["cs336-run", programs[0], "--nproc", "2", *ENDLESS, *LIMITED])
    started.wait_for("rank 0: step 3")
    started.wait_for("rank 1: step 3")
    pids = [started.process.pid, *started.ranks()]
    assert len(pids) == 3
    ports = ports_of(started.process.pid)
    assert len(ports) == 1, "the rendezvous listens"
    assert not any(ports_of(pid) for pid in pids[1:]), "the ranks have no port of the rendezvous"
    yield started
    for pid in pids:
        assert not is_running(pid)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", ports.pop())) != 0, "the port is closed"
    assert not list(temporary.iterdir())
    # Tests that run at the same time may share memory for a while.
    wait_until(lambda: shared.issuperset(SHARED_MEMORY.iterdir()))


def error_at_collective(text: str, rank: int) -> str:
    """Return why a rank failed at a collective of the program, which its error names."""
    start = f"rank {rank}: cs336-run: error: entry 'train': collective 'all_reduce"
    line = next(line for line in text.splitlines() if line.startswith(start))
    return line.removeprefix(start).partition(": ")[2]


@pytest.mark.parametrize("rank", [0, 1])
def test_killed_rank(run: Run, rank: int) -> None:
    text = run.inject(lambda: os.kill(run.ranks()[rank], signal.SIGKILL))
    assert run.process.returncode == 1
    assert f"rank {rank} ended with signal 9 (Killed)" in text.splitlines()[-1]
    assert error_at_collective(text, 1 - rank) in (
        f"rank {rank} ended without leaving the group",
        f"rank {rank} failed",
    )


@pytest.mark.parametrize("rank", [0, 1])
def test_stopped_rank(run: Run, rank: int) -> None:
    text = run.inject(lambda: os.kill(run.ranks()[rank], signal.SIGSTOP))
    assert run.process.returncode == 1
    assert f"no heartbeat from rank {rank} for 2.5s" in error_at_collective(text, 1 - rank)
    assert f"rank {rank} ended with exit code 1" in text.splitlines()[-1], "the rank goes on, and ends by itself"


HANGING = """
import cs336, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(1000))
with cs336.distributed.init(TIMEOUT) as group:
    for step in range(10**9):
        group.barrier()
        if step == 3:
            print("step 3", flush=True)
"""


def test_hanging_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 1 sends heartbeats, but takes no part in the next barrier, and ignores SIGTERM."""
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
    program = tmp_path / "program.py"
    program.write_text(HANGING.replace("TIMEOUT", str(TIMEOUT)))
    run = Run(tmp_path, [*LAUNCH, "2", "--timeout", str(TIMEOUT), str(program)])
    for rank in range(2):
        run.wait_for(f"rank {rank}: step 3")
    ranks = run.ranks()
    text = run.inject(lambda: os.kill(ranks[1], signal.SIGUSR1))
    assert run.process.returncode == 1
    assert "waited 3s for rank 1" in text
    assert "rank 1 ended with signal 9 (Killed)" in text.splitlines()[-1]
    assert not any(is_running(pid) for pid in ranks)


def test_stopped_launcher(run: Run) -> None:
    """The ranks end. The launcher cannot end before it goes on."""
    ranks = run.ranks()
    begin = time.monotonic()
    run.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: not any(is_running(pid) for pid in ranks))
    assert time.monotonic() - begin < TIMEOUT
    text = run.inject(lambda: run.process.send_signal(signal.SIGCONT))
    assert run.process.returncode == 1
    assert re.search(r"error: entry 'train': .*no heartbeat from the rendezvous at 127.0.0.1:\d+ for 3s", text)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_all(run: Run, number: signal.Signals) -> None:
    text = run.inject(lambda: run.process.send_signal(number))
    assert run.process.returncode == 128 + number
    assert f"cs336-run: error: ended by signal {number.value}" in text.splitlines()[-1]


def test_killed_launcher(run: Run) -> None:
    ranks = run.ranks()
    begin = time.monotonic()
    run.inject(run.process.kill)
    wait_until(lambda: not any(is_running(pid) for pid in ranks))
    assert time.monotonic() - begin < TIMEOUT


def test_rank_with_an_error(tmp_path: Path, programs: list[str]) -> None:
    """Rank 1 has no inputs."""
    executable = cs336.Executable.load(programs[0])
    run_ranks(tmp_path, executable, split_batch(batch(), 2), parameters(), flag="--nproc")
    (tmp_path / "in-1.npz").unlink()
    command = ["cs336-run", programs[0], "--nproc", "2", "--inputs", f"{tmp_path}/in-{{rank}}.npz"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1
    assert "rank 1: cs336-run: error: cannot open" in done.stderr
    error = next(line for line in done.stderr.splitlines() if "rank 0: cs336-run: error" in line)
    assert "rank 1 has left the group" in error or "rank 1 failed" in error


def processes_of_session(session: int) -> list[int]:
    """Return the processes that run in a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, owner = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(owner) == session and state != "Z":
            found.append(int(path.parent.name))
    return found


def start_with_few_files(program: str, limit: int, *flags: str) -> subprocess.Popen[str]:
    """Start two ranks that may open `limit` files each, in a session of their own that ends with this process."""
    run = ["cs336-run", program, "--nproc", "2", *flags]
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "sh", "-c", f'ulimit -n {limit} && exec "$@"', "sh", *run],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


FEWEST, MOST = 6, 40
"""Limits of open files: too few for the dynamic linker to start a program with fewer, and enough for two ranks."""


def test_few_file_descriptors(programs: list[str]) -> None:
    """Raises the limit until the run succeeds. A later step of the start fails at each limit."""
    errors = set()
    for limit in range(FEWEST, MOST):
        with start_with_few_files(programs[0], limit, *SHORT) as run:
            text = run.communicate(timeout=LIMIT)[1]
        assert not processes_of_session(run.pid)
        if run.returncode == 0:
            break
        assert run.returncode == 1, text
        error = text.splitlines()[-1]
        assert error.startswith("cs336-run: error: cannot ")
        assert "Too many open files: raise the limit of open files (ulimit -n)" in error
        assert "Stack dump" not in text
        errors.add(error.split(":")[2])
    assert run.returncode == 0, text
    assert len(errors) >= 3, errors


def test_killed_launcher_with_few_file_descriptors(programs: list[str]) -> None:
    """With the fewest descriptors that suffice, and with a few more, the ranks end with their launcher."""
    killed = 0
    for limit in range(FEWEST, MOST):
        with start_with_few_files(programs[0], limit, *ENDLESS) as run:
            end = time.monotonic() + LIMIT
            while run.poll() is None and len(processes_of_session(run.pid)) < 3 and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(0.5)  # The ranks step, or the run fails.
            killed += run.poll() is None
            run.kill()
            run.communicate(timeout=LIMIT)
        while (left := processes_of_session(run.pid)) and time.monotonic() < end:
            time.sleep(0.02)
        assert not left
        if killed == 4:
            return
    pytest.fail("no limit of open files suffices")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_rank(rank: int, size: int, port: int, *arguments: str, token: str = TOKEN) -> subprocess.Popen[str]:
    """Start one rank as torchrun would."""
    variables = {
        "RANK": rank,
        "WORLD_SIZE": size,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "CS336_TOKEN": token,
    }
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    return subprocess.Popen(
        ["cs336-run", *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def errors(processes: list[subprocess.Popen[str]]) -> list[str]:
    """Return what each process prints as its error. All must end within the timeout."""
    begin = time.monotonic()
    texts = [process.communicate(timeout=LIMIT)[1] for process in processes]
    assert time.monotonic() - begin < TIMEOUT
    assert [process.returncode for process in processes] == [1] * len(processes), texts
    return texts


def test_ranks_of_another_launcher(programs: list[str]) -> None:
    port = free_port()
    processes = [start_rank(rank, 2, port, programs[0], *SHORT) for rank in range(2)]
    outputs = [process.communicate(timeout=LIMIT)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert "step 2" in outputs[0]
    assert outputs[0] == outputs[1]


def test_rank_that_never_arrives(programs: list[str]) -> None:
    (text,) = errors([start_rank(0, 2, free_port(), programs[0], *SHORT)])
    assert "waited 3s for rank 1 to join" in text


def test_refused_connection(programs: list[str]) -> None:
    port = free_port()
    (text,) = errors([start_rank(1, 2, port, programs[0], *SHORT)])
    assert f"rank 1 does not reach the rendezvous at 127.0.0.1:{port}: Connection refused" in text


def test_another_token(programs: list[str]) -> None:
    port = free_port()
    first = start_rank(0, 2, port, programs[0], *SHORT)
    texts = errors([first, start_rank(1, 2, port, programs[0], *SHORT, token="another one, as long")])
    assert "waited 3s for rank 1 to join" in texts[0]
    assert "CS336_TOKEN is another one there" in texts[1] or "does not reach the rendezvous" in texts[1]


def test_another_program(programs: list[str]) -> None:
    port = free_port()
    for text in errors([start_rank(rank, 2, port, programs[rank], *SHORT) for rank in range(2)]):
        assert "rank 1 runs program" in text
        assert "give all ranks the same executable" in text


def test_another_seed(programs: list[str]) -> None:
    port = free_port()
    flags = [programs[0], *SHORT, "--seed"]
    for text in errors([start_rank(rank, 2, port, *flags, str(7 + rank)) for rank in range(2)]):
        assert "--seed is 7 on rank 0, but 8 on rank 1: pass the same one to all ranks" in text


def test_another_number_of_ranks(programs: list[str]) -> None:
    port = free_port()
    texts = errors([start_rank(0, 2, port, programs[0], *SHORT), start_rank(1, 3, port, programs[0], *SHORT)])
    assert "rank 1 was started for 3 ranks, but the group has 2" in texts[1]


NAMESPACE = ["unshare", "--user", "--map-root-user", "--net"]
LINK = "import fcntl, socket, struct, sys; s = socket.socket(); up = int(sys.argv[1]); " + (
    "fcntl.ioctl(s, 0x8914, struct.pack('16sH14s', b'lo', up, b''))"
)


def test_dropped_link(tmp_path: Path, programs: list[str]) -> None:
    """The loopback interface of a network namespace goes down while two ranks run in it."""
    set_link = [sys.executable, "-c", LINK]
    probe = subprocess.run([*NAMESPACE, *set_link, "1"], capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"this machine has no network namespaces: {probe.stderr.strip().splitlines()[-1]}")
    script = f'"$@" 1 && exec cs336-run {programs[0]} --nproc 2 {" ".join([*ENDLESS, *LIMITED])}'
    run = Run(tmp_path, [*NAMESPACE, "sh", "-c", script, "sh", *set_link])
    run.wait_for("rank 1: step 3")
    ranks = run.ranks()
    enter = ["nsenter", "--target", str(run.process.pid), "--user", "--net", "--preserve-credentials"]
    text = run.inject(lambda: subprocess.run([*enter, *set_link, "0"], check=True))
    assert run.process.returncode == 1
    assert "no heartbeat from rank" in text
    assert not any(is_running(pid) for pid in ranks)


#: Flags and variables.


@pytest.mark.parametrize(
    ("flags", "variables", "message"),
    [
        (["--nproc", "0"], {}, "--nproc is 0, must be from 1 to 1024"),
        (["--nproc", "2", "--ranks", "2"], {}, "--ranks conflicts with --nproc"),
        (["--ranks", "2"], {"RANK": "0", "WORLD_SIZE": "2"}, "--ranks conflicts with the environment"),
        (
            ["--nproc", "3"],
            {"RANK": "0", "WORLD_SIZE": "2"},
            "--nproc is 3, but the environment is that of rank 0 of 2",
        ),
        ([], {"RANK": "5", "WORLD_SIZE": "2"}, "the environment variable RANK is '5', must be an integer from 0 to 1"),
        ([], {"RANK": "0", "WORLD_SIZE": "2", "CS336_TOKEN": ""}, "CS336_TOKEN, which admits a process to the group"),
        (["--nproc", "2", "--outputs", "o.npz"], {}, "which all of the 2 ranks would write: put {rank} into the path"),
        (["--nproc", "2", "--rank-timeout", "0"], {}, "--rank-timeout is 0, must be above 0"),
        (["--rank-timeout", "3"], {}, "it requires several ranks: --ranks or --nproc"),
    ],
)
def test_wrong_flags(programs: list[str], flags: list[str], variables: dict[str, str], message: str) -> None:
    environment = os.environ | {"CS336_TOKEN": TOKEN} | variables
    command = ["cs336-run", programs[0], "--random-inputs", *flags]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LIMIT)
    assert done.returncode == 1
    assert message in done.stderr
