"""A pass, its flag and its test share a name, and the test is where the definition is."""

from __future__ import annotations

import pathlib
import re

import pytest
from device import DEVICE
from pass_pipelines import registered_passes

pytestmark = pytest.mark.skipif(DEVICE != "cpu", reason="no pass runs on a device")

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFINITIONS = ROOT / "include/cs336"
DEFINITION = re.compile(r"^def (\w+)Pass : Pass<\"([\w-]+)\"", re.MULTILINE)


def definitions() -> dict[str, tuple[str, pathlib.PurePath]]:
    """Map each flag to the name of its class, without Pass, and the folder of its definition."""
    found = {}
    for path in DEFINITIONS.rglob("*.td"):
        for name, flag in DEFINITION.findall(path.read_text(encoding="utf-8")):
            found[flag] = (name, path.parent.relative_to(DEFINITIONS))
    return found


def test_every_definition_is_registered() -> None:
    assert sorted(definitions()) == sorted(registered_passes())


@pytest.mark.parametrize("flag", registered_passes())
def test_pass_has_a_test_of_its_name(flag: str) -> None:
    _, folder = definitions()[flag]
    tests = list((ROOT / "test").rglob(f"{flag}.mlir"))
    assert len(tests) == 1, f"--{flag} needs one test called {flag}.mlir below test/{folder}"
    # The sources of a few passes are a folder deeper than their tests.
    assert (ROOT / "test" / folder).is_relative_to(tests[0].parent)
    assert f"--{flag}" in tests[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("flag", registered_passes())
def test_pass_is_written_in_a_file_of_its_name(flag: str) -> None:
    name, folder = definitions()[flag]
    name = name.removeprefix("Convert")
    assert (ROOT / "lib" / folder / f"{name}Pass.cpp").exists()
