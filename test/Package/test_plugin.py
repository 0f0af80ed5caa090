# ===- test_plugin.py - Code outside of this repository builds against it ---===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""A plugin, a tool and a program use an installation of build/dev, as docs/Plugins.md describes."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/Plugins.md").read_text()
ENVIRONMENT = os.environ | ({"CMAKE_CXX_COMPILER_LAUNCHER": "ccache"} if shutil.which("ccache") else {})


def run(*command: object, cwd: pathlib.Path) -> str:
    """Run a command that must succeed; the result is all that it printed."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}"
    return done.stdout


def commands(section: str) -> str:
    """Return the commands of a section of the page."""
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return "\n".join(re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with an installation, created with the commands of the page; everything is built already."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "build").mkdir()
    (folder / "build/dev").symlink_to(ROOT / "build/dev")
    shutil.copytree(ROOT / "examples/plugin", folder / "examples/plugin")
    install = commands("Install the compiler")
    assert "ninja -C build/dev\n" in install
    run("bash", "-ec", install.replace("ninja -C build/dev\n", ""), cwd=folder)
    return folder


def test_plugin_builds_and_runs(folder: pathlib.Path) -> None:
    """The commands of the page build the example and run it, alone and in the pipeline."""
    run("bash", "-ec", commands("Build a plugin"), cwd=folder)
    printed = run("bash", "-ec", commands("Run it"), cwd=folder)
    assert printed.count("= cs336.mul %arg0") == 2
    assert printed.count("dense<2.500000e-01>") == 2
    assert "exec.kernel @mul_" in printed
    assert "exec.kernel @div_" in printed
    assert "examples/plugin/divide-by-constants.mlir:13:8: remark: 1/c is not exact: the division stays" in printed
    opt = folder / "build/install/bin/cs336-opt"
    counted = run(
        opt,
        "examples/plugin/divide-by-constants.mlir",
        "--load-pass-plugin=build/plugin/DivideByConstants.so",
        "--pass-pipeline=builtin.module(func.func(example-divide-by-constants))",
        "--pass-statistics",
        cwd=folder,
    )
    assert re.search(r"example-divide-by-constants +num-multiplied +1 ", counted)


def test_headers_belong_to_the_installation(folder: pathlib.Path) -> None:
    """No exported target refers to this repository."""
    package = folder / "build/install/lib/cmake/CS336Opt"
    for file in package.iterdir():
        assert str(ROOT) not in file.read_text(), file.name


def test_programs_build(folder: pathlib.Path) -> None:
    """A program uses the runtime without the compiler, and a tool uses the compiler's libraries."""
    install = folder / "build/install"
    source, build = ROOT / "test/Package/consumer", folder / "consumer"
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={install}", cwd=folder)
    run("cmake", "--build", build, cwd=folder)
    program = folder / "program.cs336x"
    run(
        install / "bin/cs336-translate", "--emit-executable", ROOT / "examples/gelu_mlp.mlir", "-o", program, cwd=folder
    )
    assert run(build / "list-entries", program, cwd=folder).split() == ["forward_backward"]
    assert "exec.entry" in run(build / "own-opt", ROOT / "examples/gelu_mlp.mlir", "--cs336-pipeline", cwd=folder)
