"""`_cs336.pyi`, which type checkers read, declares every function and argument of the extension module."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import cs336
from cs336 import _cs336

Declarations = dict[str, list[str] | None]  # Arguments by name; None for a property.


def declared() -> Declarations:
    result: Declarations = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)
                result[prefix + node.name] = None if is_property else [a.arg for a in node.args.args if a.arg != "self"]

    visit(ast.parse((Path(cs336.__file__).parent / "_cs336.pyi").read_text()).body, "")
    return result


def arguments(function: Any) -> list[str]:
    """Return the arguments of nanobind's signature: "def run(self, entry: str) -> None"."""
    names = re.findall(r"(\w+): ", function.__nb_signature__[0][0])
    return [name for name in names if name != "self"]


def present() -> Declarations:
    result: Declarations = {}
    for name, member in vars(_cs336).items():
        if isinstance(member, type):
            methods = {key: value for key, value in vars(member).items() if not key.startswith("__")}
            for key, value in methods.items():
                result[f"{name}.{key}"] = None if isinstance(value, property) else arguments(getattr(member, key))
            if hasattr(member.__init__, "__nb_signature__"):
                result[f"{name}.__init__"] = arguments(member.__init__)
        elif not name.startswith("__"):
            result[name] = arguments(member)
    return result


def test_declarations_are_those_of_the_module() -> None:
    assert declared() == present()
