"""Groups of processes from Python, and training on text on several ranks."""

from __future__ import annotations

import csv
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import cs336
import numpy as np
import pytest
from device import DEVICE

pytestmark = pytest.mark.skipif(DEVICE != "cpu", reason="ranks run on the CPU")

TRAIN_TEXT = Path(__file__).parents[2] / "examples/train_text.py"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(cs336.__file__).parents[1])}


LAUNCH = [sys.executable, "-m", "cs336.launch", "--nproc"]


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENVIRONMENT | variables)


def launch(folder: Path, ranks: int, program: str, *flags: str) -> subprocess.CompletedProcess[str]:
    path = folder / "program.py"
    path.write_text(program)
    return run([*LAUNCH, str(ranks), *flags, str(path)])


def test_process_of_its_own_is_a_group() -> None:
    with cs336.distributed.init() as group:
        assert (group.rank, group.size, group.local_rank, group.local_size) == (0, 1, 0, 1)
        group.barrier()
        for reduction in ("sum", "mean", "max", "min"):
            assert group.all_reduce(np.float32([1, 2]), reduction).tolist() == [1, 2]
        with pytest.raises(ValueError, match="unknown reduction 'median': expected sum, mean, max or min"):
            group.all_reduce(np.zeros(1), "median")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="the array to reduce"):
            group.all_reduce("text")
    with pytest.raises(RuntimeError, match="this process has left the group"):
        group.barrier()


def test_numbers_of_python_are_reduced() -> None:
    with cs336.distributed.init() as group:
        for number, dtype in ((3.5, np.float64), (-3, np.int64), ((1 << 63) - 1, np.int64)):
            for reduction in ("sum", "mean", "max", "min"):
                result = group.all_reduce(number, reduction)
                assert isinstance(result, np.ndarray)
                assert (result.shape, result.dtype, result.item()) == ((), dtype, number)
        with pytest.raises(ValueError, match="the number to reduce is 9223372036854775808, must fit into 64 bits"):
            group.all_reduce(1 << 63)


REDUCE = """
import cs336, numpy as np
with cs336.distributed.init() as group:
    value = np.arange(4, dtype=np.int64).reshape(2, 2) + group.rank
    print([group.all_reduce(value, kind).tolist() for kind in ("sum", "max", "min")], group.size)
    print(group.all_reduce(np.float64(group.rank)).item(), group.all_reduce(-2 * group.rank, "sum"))
"""


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_arrays_are_reduced(tmp_path: Path, ranks: int) -> None:
    done = launch(tmp_path, ranks, REDUCE)
    assert done.returncode == 0, done.stderr
    value = np.arange(4).reshape(2, 2)
    total = ranks * value + ranks * (ranks - 1) // 2
    expected = [each.tolist() for each in (total, value + ranks - 1, value)]
    lines = [
        [f"rank {rank}: {expected} {ranks}", f"rank {rank}: {(ranks - 1) / 2} {-ranks * (ranks - 1)}"]
        for rank in range(ranks)
    ]
    assert sorted(done.stdout.splitlines()) == sorted(line for pair in lines for line in pair)


def test_the_mean_of_large_integers_is_exact(tmp_path: Path) -> None:
    text = "import cs336, numpy as np\nwith cs336.distributed.init() as group:\n"
    text += "    print(group.all_reduce(np.array([2**62, -(2**63)]) + group.rank, 'mean').tolist())"
    done = launch(tmp_path, 2, text)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith(f"[{2**62}, {-(2**63) + 1}]")


def test_one_rank_has_no_limit_of_time(tmp_path: Path) -> None:
    done = launch(tmp_path, 1, "import cs336, time; cs336.distributed.init(); time.sleep(1)", "--timeout", "0.2")
    assert done.returncode == 0, done.stderr


CORES = """
import os, sys
if len(sys.argv) > 1:
    os.sched_setaffinity(0, [int(sys.argv[1])])
import cs336
with cs336.distributed.init() as group:
    print(group.rank, sorted(os.sched_getaffinity(0)))
"""


def test_ranks_of_another_launcher_divide_cores() -> None:
    cores = sorted(os.sched_getaffinity(0))
    half = len(cores) // 2
    if not half:
        pytest.skip("there is one core")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    variables = ENVIRONMENT | {"WORLD_SIZE": "2", "MASTER_PORT": port, "CS336_TOKEN": "0123456789abcdef"}
    launcher_divides = [([], []), ([str(cores[-1])], [str(cores[0])])]
    expected = [(cores[: len(cores) - half], cores[len(cores) - half :]), ([cores[-1]], [cores[0]])]
    for arguments, shares in zip(launcher_divides, expected, strict=True):
        ranks = [
            subprocess.Popen(
                [sys.executable, "-c", CORES, *arguments[rank]],
                env=variables | {"RANK": str(rank)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        assert [rank.communicate(timeout=60)[0] for rank in ranks] == [f"{i} {shares[i]}\n" for i in range(2)]


FAILING = """
import cs336, sys
group = cs336.distributed.init()
if group.rank == 1:
    sys.exit("no data")
group.barrier()
"""


def test_rank_that_fails(tmp_path: Path) -> None:
    done = launch(tmp_path, 2, FAILING)
    assert done.returncode == 1
    assert "rank 1: no data" in done.stderr
    assert "RuntimeError: rank 1" in done.stderr
    assert "rank 1 ended with exit code 1" in done.stderr.splitlines()[-1]


WAITING = """
import signal
kinds = (signal.SIGUSR1, signal.SIGUSR2)
signal.pthread_sigmask(signal.SIG_BLOCK, kinds)  # Before there are other threads, which would receive the signals.
import cs336
with cs336.distributed.init() as group:
    print("ready", flush=True)
    for kind in kinds:
        print("signal", int(signal.sigwait(kinds)), flush=True)
"""


def test_user_signals_reach_all_ranks(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(WAITING)
    launcher = subprocess.Popen([*LAUNCH, "2", str(path)], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert launcher.stdout
    for kind in (None, signal.SIGUSR1, signal.SIGUSR2):
        if kind:
            launcher.send_signal(kind)
        text = f"signal {int(kind)}" if kind else "ready"
        lines = {launcher.stdout.readline() for _ in range(2)}
        assert lines == {f"rank {rank}: {text}\n" for rank in range(2)}
    assert launcher.wait(60) == 0


IGNORED = """
import signal, sys
print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, flush=True)
signal.sigwait({signal.SIGTERM})
"""


def test_ignored_signals_stay_ignored(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(IGNORED)
    launcher = subprocess.Popen(
        ["nohup", *LAUNCH, "1", str(path)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert launcher.stdout
    assert launcher.stdout.readline() == "rank 0: True\n"
    launcher.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        launcher.wait(0.5)
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(60) != 0


FORK = """
import cs336, numpy as np, os
group = cs336.distributed.init()
if (child := os.fork()) == 0:
    try:
        group.barrier()
    except RuntimeError as error:
        print(error, flush=True)
    group.close()
    raise SystemExit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
print(group.all_reduce(np.int64(group.rank + 1), "sum"))
"""


def test_child_of_a_rank_ends_and_leaves_the_group_alone(tmp_path: Path) -> None:
    done = launch(tmp_path, 2, FORK, "--timeout", "20")
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(2):
        assert f"rank {rank}: this process was forked from rank {rank}: only the rank itself" in done.stdout
        assert f"rank {rank}: 3\n" in done.stdout


CLOSE = """
import cs336, threading, time
group = cs336.distributed.init(timeout=20)
if group.rank == 0:
    thread = threading.Thread(target=group.barrier)
    thread.start()
    while not group._lock.locked():
        time.sleep(0.01)
    for call in (group.barrier, group.close):
        try:
            call()
        except RuntimeError as error:
            print(error)
    open(PATH, "w").close()
    thread.join()
else:
    import os
    while not os.path.exists(PATH):
        time.sleep(0.01)
    group.barrier()
group.close()
"""


def test_group_is_used_by_one_thread_at_a_time(tmp_path: Path) -> None:
    done = launch(tmp_path, 2, CLOSE.replace("PATH", repr(str(tmp_path / "go"))), "--timeout", "20")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("rank 0: the group is in use by another thread") == 2


def test_launch_runs_modules_and_passes_arguments() -> None:
    done = run([*LAUNCH, "2", "-m", "platform", "--terse", "x"])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line[:8] for line in sorted(lines)] == ["rank 0: ", "rank 1: "]


def test_launch_requires_only_the_program() -> None:
    done = run([*LAUNCH, "2"])
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("error: the following arguments are required: PROGRAM")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cs336.distributed.init(0), ValueError, "timeout is 0, must be a positive number"),
        (lambda: cs336.distributed.launch([], 2), ValueError, "there is no command to run as ranks"),
        (lambda: cs336.distributed.launch("a b", 2), ValueError, r"must be a list of words: \['a', 'b'\]"),
        (lambda: cs336.distributed.launch(["true"], 0), ValueError, "cannot start 0 ranks, must be from 1 to 1024"),
        (lambda: cs336.distributed.launch(["true"], 1025), ValueError, "cannot start 1025 ranks, must be from 1 to"),
        (lambda: cs336.distributed.launch(["/no/such/program"], 2), FileNotFoundError, "cannot run '/no/such/program'"),
        (lambda: cs336.distributed.launch(["false"], 2), RuntimeError, "rank . failed; rank . ended with exit code 1"),
    ],
)
def test_wrong_calls(call: object, error: type[Exception], message: str) -> None:
    """Each runs in a process of its own, whose main thread starts the ranks."""
    assert callable(call)
    with pytest.raises(error, match=message):
        call()


def test_few_file_descriptors() -> None:
    done = run(["sh", "-c", 'ulimit -n 12 && exec "$@"', "sh", *LAUNCH, "2", "-m", "platform"])
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("cs336.launch: error: cannot ")
    assert "Too many open files: raise the limit of open files (ulimit -n)" in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_environment() -> None:
    done = run([sys.executable, "-c", "import cs336; cs336.distributed.init()"], RANK="0", WORLD_SIZE="2")
    assert "ValueError: the environment variable CS336_TOKEN" in done.stderr


#: Training on text.

SMALL = ["--d-model", "32", "--d-ff", "64", "--num-layers", "2", "--num-heads", "2", "--context-length", "16"]
SMALL += ["--batch-size", "8", "--eval-every", "5", "--eval-batches", "2", "--sample-tokens", "4", "--threads", "1"]
SMALL += ["--checkpoint-every", "5", "--cosine-steps", "25", "--warmup-steps", "2"]


def train(folder: Path, ranks: int, steps: int, *flags: str) -> list[list[float]]:
    """Train on `ranks` ranks, and return steps, losses and held-out losses."""
    start = [*LAUNCH, str(ranks)] if ranks > 1 else [sys.executable]
    done = run([*start, str(TRAIN_TEXT), str(TRAIN_TEXT), "--out", str(folder), "--steps", str(steps), *SMALL, *flags])
    assert done.returncode == 0, done.stderr
    assert (folder / "sample.txt").exists()
    with (folder / "curve.csv").open() as file:
        return [[float(value or "nan") for value in row[:3]] for row in list(csv.reader(file))[1:]]


@pytest.mark.parametrize("distribute", ["overlap", "bucket", "zero1", "fsdp"])
def test_ranks_train_like_one(tmp_path: Path, distribute: str) -> None:
    """Losses are equal up to the rounding of sums over parts of a batch, which 20 steps of AdamW make larger."""
    alone = train(tmp_path / "alone", 1, 20)
    ranks = train(tmp_path / "ranks", 2, 20, "--distribute", distribute)
    assert len(alone) == 20
    np.testing.assert_allclose(ranks, alone, rtol=1e-4)


def test_run_resumes_on_other_numbers_of_ranks(tmp_path: Path) -> None:
    alone = train(tmp_path / "alone", 1, 20)
    folder = tmp_path / "ranks"
    train(folder, 2, 5)
    train(folder, 4, 10, "--resume", "--distribute", "fsdp")
    train(folder, 1, 15, "--resume")
    resumed = train(folder, 2, 20, "--resume", "--distribute", "zero1")
    np.testing.assert_allclose(resumed, alone, rtol=1e-4)


def test_batch_must_be_a_multiple_of_ranks(tmp_path: Path) -> None:
    command = [*LAUNCH, "3", str(TRAIN_TEXT), str(TRAIN_TEXT), *SMALL]
    done = run([*command, "--out", str(tmp_path / "run")])
    assert done.returncode == 1
    assert "train_text: error: --batch-size is 8, must be a multiple of the 3 ranks" in done.stderr
