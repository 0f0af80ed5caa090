# ===- test_tarball.py - The tarball runs where it is unpacked -------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""The tarball of scripts/package works in any folder, without this repository and without an environment."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile

import pytest
from elf_file import missing_protections
from package_sources import missing_sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("cs336-bench", "cs336-lsp-server", "cs336-opt", "cs336-run", "cs336-translate")
# glibc's libraries and the C++ library, which every system has.
SYSTEM = re.compile(r"(linux-vdso|ld-linux-x86-64|lib(c|dl|gcc_s|m|pthread|rt|stdc\+\+))\.so")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
NEWEST = {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Make the tarball and unpack it elsewhere."""
    subprocess.run([ROOT / "scripts/package", "--fast"], check=True)
    tarballs = list((ROOT / "build/package").glob("cs336-opt-*-linux-x86_64.tar.xz"))
    assert len(tarballs) == 1
    assert tarballs[0].stat().st_size <= 40_000_000
    folder = tmp_path_factory.mktemp("elsewhere")
    with tarfile.open(tarballs[0]) as archive:
        archive.extractall(folder)
    return next(folder.iterdir())


def run(*command: object, cwd: pathlib.Path, **environment: str) -> str:
    """Run a command that must succeed, with only the given environment variables."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def binaries(package: pathlib.Path, *folders: str) -> list[pathlib.Path]:
    """Find the programs, libraries and extension modules in folders of the package."""
    files = [file for folder in folders for file in (package / folder).iterdir()]
    return [file for file in files if file.is_file() and not file.is_symlink() and file.read_bytes()[:4] == b"\x7fELF"]


@pytest.mark.parametrize("tool", TOOLS)
def test_tool_starts(package: pathlib.Path, tmp_path: pathlib.Path, tool: str) -> None:
    assert "OPTIONS" in run(package / "bin" / tool, "--help", cwd=tmp_path)


def test_model_is_compiled_and_runs(package: pathlib.Path, tmp_path: pathlib.Path) -> None:
    shape = ["--vocab-size=40", "--context-length=8", "--d-model=16", "--num-layers=1", "--num-heads=2", "--d-ff=24"]
    table = run(package / "bin/cs336-bench", "model", *shape, "--mode=train", "--steps=2", "--format=csv", cwd=tmp_path)
    assert len(table.splitlines()) >= 2, table


def test_binaries_are_protected(package: pathlib.Path) -> None:
    ours = [file for file in binaries(package, "bin", "python/cs336", "lib") if "cs336" in file.name]
    assert len(ours) >= len(TOOLS) + 3
    for file in ours:
        assert missing_protections(file) == [], file.name


def test_needs_only_itself_and_the_system(package: pathlib.Path, tmp_path: pathlib.Path) -> None:
    # The libraries find each other through the program or extension module that loads them.
    for binary in binaries(package, "bin", "python/cs336"):
        for line in run("/usr/bin/ldd", binary, cwd=tmp_path).splitlines():
            name, _, found = line.strip().partition(" => ")
            assert "not found" not in found, f"{binary.name}: {line}"
            assert SYSTEM.search(name) or found.startswith(str(package)), (
                f"{binary.name} takes {line} from this machine"
            )


def test_needs_no_newer_system(package: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for binary in binaries(package, "bin", "lib", "python/cs336"):
        for name, version in re.findall(
            r"\((GLIBC|GLIBCXX|CXXABI)_([0-9.]+)\)", run("/usr/bin/objdump", "-T", binary, cwd=tmp_path)
        ):
            assert tuple(map(int, version.split("."))) <= NEWEST[name], f"{binary.name} needs {name}_{version}"


def test_python_package_trains(package: pathlib.Path, tmp_path: pathlib.Path) -> None:
    numpy = sysconfig.get_path("purelib")
    program = pathlib.Path(__file__).with_name("train.py")
    printed = run(sys.executable, program, cwd=tmp_path, PYTHONPATH=f"{package / 'python'}:{numpy}")
    assert str(package) in printed


def test_python_package_is_complete(package: pathlib.Path) -> None:
    assert missing_sources(package / "python/cs336") == []


def test_documentation_is_included(package: pathlib.Path) -> None:
    for name in ("README.md", "CHANGELOG.md", "LICENSE", "docs/Overview.md", "docs/Dialects/CS336.md"):
        assert (package / name).is_file(), name
    examples = {path.name for path in (ROOT / "examples").iterdir() if path.is_file()}
    assert examples <= {path.name for path in (package / "examples").iterdir()}
    links = [
        (page, target)
        for page in package.rglob("*.md")
        for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))
    ]
    assert len(links) > 100
    assert not [f"{page}: {target}" for page, target in links if not (page.parent / target).exists()]


def test_every_library_has_a_licence(package: pathlib.Path) -> None:
    rows = re.findall(
        r"^\| (\S+) \| \S+ \| (.*) \| \[.*\]\((\S+)\) \|$",
        (package / "THIRD_PARTY.md").read_text("utf-8"),
        re.MULTILINE,
    )
    libraries = {str(file.relative_to(package)) for file in binaries(package, "lib") if "cs336" not in file.name}
    assert libraries == {name for _, files, _ in rows for name in re.findall(r"`(.*?)`", files)}
    assert not [licence for _, _, licence in rows if (package / licence).stat().st_size < 500]
    compiled_in = " ".join(name for name, files, _ in rows if files == "compiled in")
    for name in ("llvm-toolchain", "nanobind", "eigen3", "flatbuffers", "nlohmann-json3", "zstd"):
        assert name in compiled_in
    named = {
        name.rstrip(".")
        for text in (package / "licenses").glob("*.txt")
        for name in re.findall(r"/usr/share/common-licenses/([\w.+-]+)", text.read_text(encoding="utf-8"))
    }
    assert not [name for name in named if not (package / f"licenses/{name}.txt").is_file()]


def test_binaries_are_stripped(package: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for binary in binaries(package, "bin", "lib", "python/cs336"):
        assert ".debug_info" not in run("/usr/bin/objdump", "-h", binary, cwd=tmp_path), binary.name
