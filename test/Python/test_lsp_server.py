# ===- test_lsp_server.py - The language server, as an editor uses it -------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""The language server speaks JSON-RPC over standard input and output, as editors start it."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

import cs336
import pytest

BIN = pathlib.Path(cs336.__file__).resolve().parents[2] / "bin"
GOOD = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = cs336.rsqrt %x : tensor<4xf32>
  %z = cs336.add %y, %x : tensor<4xf32>
  return %z : tensor<4xf32>
}
"""


class Editor:
    """The client's side of one session."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [BIN / "cs336-lsp-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.count = 0
        self.notifications: list[dict[str, Any]] = []
        self.request("initialize", processId=None, rootUri=None, capabilities={})
        self.send("initialized")

    def send(self, method: str, id: int | None = None, **params: object) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": id})
        text = json.dumps(message).encode()
        assert self.process.stdin
        self.process.stdin.write(f"Content-Length: {len(text)}\r\n\r\n".encode() + text)
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        header = self.process.stdout.readline()
        assert header.startswith(b"Content-Length: "), header
        assert self.process.stdout.readline() == b"\r\n"
        message = json.loads(self.process.stdout.read(int(header.split()[1])))
        if "method" in message:
            self.notifications.append(message)
        return message

    def request(self, method: str, **params: object) -> Any:
        self.count += 1
        self.send(method, id=self.count, **params)
        while (message := self.read()).get("id") != self.count:
            pass
        return message["result"]

    def open(self, text: str, name: str = "file:///f.mlir") -> list[dict[str, Any]]:
        """Open a document; the result is its diagnostics."""
        document = {"uri": name, "languageId": "mlir", "version": 1, "text": text}
        self.send("textDocument/didOpen", textDocument=document)
        while (message := self.read()).get("method") != "textDocument/publishDiagnostics":
            pass
        return message["params"]["diagnostics"]

    def ask(self, what: str, line: int, character: int) -> Any:
        """Send a request about a position in the document."""
        position = {"line": line, "character": character}
        return self.request(f"textDocument/{what}", textDocument={"uri": "file:///f.mlir"}, position=position)


@pytest.fixture
def editor() -> Iterator[Editor]:
    editor = Editor()
    yield editor
    editor.request("shutdown")
    editor.send("exit")
    assert editor.process.wait(timeout=30) == 0


def test_diagnostics(editor: Editor) -> None:
    """A verifier's error is at its operation, with its message."""
    assert editor.open(GOOD) == []
    (error,) = editor.open(
        GOOD.replace("%z = cs336.add %y, %x : tensor<4xf32>", "%z = cs336.frobnicate %y"), "file:///g.mlir"
    )
    assert error["message"] == "custom op 'cs336.frobnicate' is unknown"
    assert error["range"]["start"]["line"] == 2


def test_hover_shows_documentation(editor: Editor) -> None:
    """An operation of ours shows its summary, syntax, semantics and example, then its generic form."""
    editor.open(GOOD)
    text = editor.ask("hover", 1, 12)["contents"]["value"]
    assert text.startswith('"cs336.rsqrt"\n\n_1/√x_\n')
    assert "operation ::= `cs336.rsqrt` $operand" in text
    assert "computed in float32 and rounded once" in text
    assert "Traits" not in text
    assert text.endswith('%0 = "cs336.rsqrt"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>\n```\n')
    # An operation of another dialect has MLIR's own text.
    assert editor.ask("hover", 3, 4)["contents"]["value"].startswith('"func.return"\n\nGeneric Form:')


def test_completion_lists_operations(editor: Editor) -> None:
    """After `cs336.` and `exec.` all operations of the dialect follow, each with its documentation."""
    for dialect, name, summary in (("cs336", "rms_norm", "Root-mean-square"), ("exec", "gemm", "C")):
        editor.send("textDocument/didClose", textDocument={"uri": "file:///f.mlir"})
        editor.open(f"func.func @f() {{\n  %0 = {dialect}.\n}}")
        items = editor.ask("completion", 1, 8 + len(dialect))["items"]
        found = {item["label"]: item for item in items}
        assert name in found
        assert summary in found[name]["detail"]
        undocumented = [label for label, item in found.items() if len(item["documentation"]["value"]) < 40]
        assert undocumented == []


def test_completion_of_other_names(editor: Editor) -> None:
    """Dialects and values complete as in MLIR's server."""
    editor.open("func.func @f(%input: tensor<4xf32>) {\n  %y = cs336.exp %\n}")
    assert "%input" in [item["label"] for item in editor.ask("completion", 1, 18)["items"]]
    editor.send("textDocument/didClose", textDocument={"uri": "file:///f.mlir"})
    editor.open("func.func @f(%input: tensor<4xf32>) {\n  %y = \n}")
    assert {"cs336", "exec", "func"} <= {item["label"] for item in editor.ask("completion", 1, 7)["items"]}


def test_definition_and_references(editor: Editor) -> None:
    """A use leads to its definition, and back."""
    editor.open(GOOD)
    (place,) = editor.ask("definition", 2, 18)
    assert place["range"]["start"] == {"line": 1, "character": 2}
    references = editor.request(
        "textDocument/references",
        textDocument={"uri": "file:///f.mlir"},
        position={"line": 1, "character": 3},
        context={"includeDeclaration": True},
    )
    assert [reference["range"]["start"]["line"] for reference in references] == [1, 2]


def test_server_ends_with_its_editor() -> None:
    """An editor that is gone leaves no process behind: the server ends with its input."""
    editor = Editor()
    assert editor.process.stdin
    editor.process.stdin.close()
    assert editor.process.wait(timeout=30) == 1
