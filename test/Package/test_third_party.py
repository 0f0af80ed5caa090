# ===- test_third_party.py - A package without a licence is not made --------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""scripts/lib/third_party.py finds the owners of libraries and archives, and fails where there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))

import third_party  # noqa: E402


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Give a package that has an empty library with oneDNN's name, and an empty build."""
    (tmp_path / "package/lib").mkdir(parents=True)
    (tmp_path / "package/lib/libdnnl.so.2.6").touch()
    (tmp_path / "build").mkdir()
    (tmp_path / "build/build.ninja").touch()
    return tmp_path / "package"


def collect(package: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts/lib/third_party.py"]
    command += ["--package", package, "--build", package.parent / "build"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_licences_are_found(package: Path) -> None:
    build = package.parent / "build/build.ninja"
    build.write_text(
        "build a: LINK\n  LINK_LIBRARIES = lib/own.a  -Wl,-Bstatic  -lz  -Wl,-Bdynamic  -ldl\n", encoding="utf-8"
    )
    assert collect(package).returncode == 0
    rows = [line for line in (package / "THIRD_PARTY.md").read_text(encoding="utf-8").splitlines() if "txt)" in line]
    assert [row.split(" | ")[0] for row in rows] == ["| onednn", "| zlib"]
    assert "`lib/libdnnl.so.2.6`" in rows[0]
    assert "compiled in" in rows[1]
    assert "Apache-2.0" in (package / "licenses/onednn.txt").read_text(encoding="utf-8")
    assert (package / "licenses/Apache-2.0.txt").stat().st_size > 10000


def test_library_without_owner_is_an_error(package: Path) -> None:
    (package / "lib/libnobodys.so.1").touch()
    run = collect(package)
    assert run.returncode == 1
    assert "no Debian package owns libnobodys.so.1, so its licence is not known" in run.stderr


def test_archive_without_owner_is_an_error(package: Path) -> None:
    build = package.parent / "build/build.ninja"
    build.write_text("build a: LINK\n  LINK_LIBRARIES = /opt/nobodys.a\n", encoding="utf-8")
    run = collect(package)
    assert run.returncode == 1
    assert "no Debian package owns /opt/nobodys.a, which is compiled in" in run.stderr


def test_functions_of_nvtx_headers_are_compiled_in(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    header = site / "nvidia/cu13/include/nvtx3/nvToolsExt.h"
    licence = site / "nvidia_nvtx-13.0.85.dist-info/licenses/License.txt"
    for file, text in (
        (licence, "Apache License"),
        (licence.parents[1] / "METADATA", "Metadata-Version: 2.4\nName: nvidia-nvtx\nVersion: 13.0.85\n"),
        (licence.parents[1] / "RECORD", "nvidia_nvtx-13.0.85.dist-info/licenses/License.txt,,\n"),
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert third_party.DECLARATIONS.search(str(header.parents[1] / "cuda.h"))
    assert not third_party.DECLARATIONS.search(str(header))
    components: dict[str, third_party.Component] = {}
    third_party.add_distribution(components, header)
    assert components == {"nvidia-nvtx": third_party.Component("13.0.85", set(), ["Apache License"])}
