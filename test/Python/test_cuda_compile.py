"""Compiling for GPUs through the package, which requires NVRTC but not a GPU."""

from __future__ import annotations

from pathlib import Path

import cs336
import pytest

TEXT = """
func.func @forward(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %0 = cs336.matmul %a, %b : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  %1 = cs336.exp %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CS336_CACHE_DIR", str(tmp_path))
    return tmp_path


def compile_for_gpu(*architectures: str, use_cache: bool = True) -> cs336.Executable:
    try:
        return cs336.compile(TEXT, device="cuda", architectures=architectures, use_cache=use_cache)
    except ValueError as error:
        if "cannot find NVRTC" in str(error):
            pytest.skip(str(error))
        raise


def test_every_architecture_adds_code(tmp_path: Path) -> None:
    sizes = []
    for index, architectures in enumerate([("sm_80",), ("sm_80", "sm_90a", "sm_120")]):
        path = tmp_path / f"{index}.cs336x"
        compile_for_gpu(*architectures).save(path)
        sizes.append(path.stat().st_size)
        for architecture in architectures:
            assert architecture.encode() in path.read_bytes()
    assert sizes[0] < sizes[1]


def test_the_plan_has_room_for_workspaces() -> None:
    assert compile_for_gpu("sm_90a").plan("forward").arena_bytes >= 32 << 20
    assert cs336.compile(TEXT).plan("forward").arena_bytes < 1 << 20


def test_code_is_kept_unless_told_otherwise(cache: Path) -> None:
    compile_for_gpu("sm_90a", use_cache=False)
    assert not list(cache.iterdir())
    compile_for_gpu("sm_90a")
    assert len(list(cache.glob("cubins/llvmcache-*"))) == 1
    assert len(list(cache.glob("executables/llvmcache-*"))) == 1


def test_programs_are_kept_whole_on_the_cpu_too(cache: Path, tmp_path: Path) -> None:
    for name, use_cache, entries in [("own", False, 0), ("first", True, 1), ("second", True, 1)]:
        cs336.compile(TEXT, use_cache=use_cache).save(tmp_path / f"{name}.cs336x")
        assert len(list(cache.glob("executables/llvmcache-*"))) == entries
    own, first, second = ((tmp_path / f"{name}.cs336x").read_bytes() for name in ("own", "first", "second"))
    assert own == first == second


def test_the_cpu_refuses_code_for_gpus() -> None:
    with pytest.raises(RuntimeError, match="cuda"):
        cs336.Session(compile_for_gpu("sm_90a"), device="cpu")


def test_unknown_devices_and_architectures_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown device 'tpu': expected cpu, cuda or cuda:N"):
        cs336.compile(TEXT, device="tpu")
    with pytest.raises(ValueError, match="unknown device 'tpu': expected cpu, cuda or cuda:N"):
        cs336.Session(cs336.compile(TEXT), device="tpu")
    compile_for_gpu("sm_90a")
    with pytest.raises(ValueError, match="unknown architecture 'sm_7'"):
        cs336.compile(TEXT, device="cuda", architectures=["sm_7"])
