# ===- third_party.py - The licences of what a package redistributes -------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Collect the licences of third-party software in a package: its libraries, and archives and headers compiled in.

The build lists what was compiled in. The owners are in Debian's package database and in Python distributions' metadata.
Writes THIRD_PARTY.md and a folder of licence texts. A file without an owner or a licence is an error.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

DOCUMENTATION = Path("/usr/share/doc")
COMMON = Path("/usr/share/common-licenses")
OWN = re.compile(r"libcs336|_cs336")
# Headers of the C and C++ libraries, of the kernel and of Python. GCC's runtime exception and the kernel's note
# on system calls set no conditions for programs that include them.
SYSTEM = re.compile(r"(libc6|libcrypt|libgcc-\d+|libstdc\+\+-\d+|linux-libc|libpython3\.\d+|python3\.\d+)-dev$")
# Declarations of CUDA's driver, and Python's headers outside of Debian's packages. Binaries contain no code from them.
# NVTX's headers lie beside them and contain functions.
DECLARATIONS = re.compile(
    r"/include/python3\.\d+/|/nvidia/cu13/include/(?!nvtx3/)|/cuda[^/]*/(targets/[^/]+/)?include/(?!nvtx3/)"
)
# Third-party sources in a distribution, whose licences are at the beginning of a file.
LICENCE_IN_HEADER = {"nanobind": ["nanobind/ext/robin_map/include/tsl/robin_map.h"]}


@dataclass
class Component:
    """One piece of third-party software.

    Attributes
    ----------
    version
        The version of its package.
    files
        Its files, as paths in our package; empty for software that is only compiled in.
    texts
        The licences.
    """

    version: str
    files: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)


def run(*command: object) -> str:
    """Return the output of a command, even if it fails for some of its arguments."""
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False).stdout


def packed_libraries(package: Path) -> list[Path]:
    """List the third-party libraries in a package's lib/, without links."""
    files = (path for path in (package / "lib").glob("*.so*") if not path.is_symlink())
    return sorted(path for path in files if not OWN.match(path.name))


def linked_archives(build: Path) -> set[Path]:
    """Return the third-party archives that the build links."""
    archives = set()
    for line in re.findall(
        r"^  LINK_LIBRARIES = (.*)$", (build / "build.ninja").read_text(encoding="utf-8"), re.MULTILINE
    ):
        archives |= {Path(word) for word in line.split() if word.startswith("/") and word.endswith(".a")}
        for part in re.findall(r"-Wl,-Bstatic(.*?)-Wl,-Bdynamic", line):
            for name in re.findall(r"-l(\S+)", part):
                archives.add(Path(run("gcc", f"-print-file-name=lib{name}.a").strip()))
    return {path for path in archives if not path.is_relative_to(build)}


def included_headers(build: Path, sources: Path) -> set[Path]:
    """Return the third-party headers that the build's objects include."""
    lines = run("ninja", "-C", build, "-t", "deps").splitlines()
    headers = {(build / line.strip()).resolve() for line in lines if line.startswith("    ")}
    ours = {path for path in headers if path.is_relative_to(sources) and "site-packages" not in path.parts}
    return {path for path in headers - ours if path.exists() and not DECLARATIONS.search(str(path))}


def debian_owners(patterns: Iterable[str]) -> dict[str, str]:
    """Return the Debian package of each file, by the file's path; patterns are paths or have asterisks."""
    owners = {}
    for line in run("dpkg-query", "-S", *patterns).splitlines():
        packages, _, path = line.partition(": ")
        if not packages.startswith("diversion by"):
            owners[path] = packages.split(", ")[0].partition(":")[0]
    return owners


def add_debian(components: dict[str, Component], package: str) -> Component:
    """Add a Debian package to the component of its source, and return that."""
    source, _, version = run("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package).partition(" ")
    component = components.setdefault(source, Component(version))
    file = DOCUMENTATION / package / "copyright"
    if not file.is_file():
        raise ValueError(f"{package} has no {file}, which has the licence of what it contains")
    text = file.read_text(encoding="utf-8", errors="replace")
    if text not in component.texts:
        component.texts.append(text)
    return component


def leading_comment(path: Path) -> str:
    """Return the comment at the beginning of a header."""
    found = re.match(r"\s*/\*\*?(.*?)\*/", path.read_text(encoding="utf-8"), re.DOTALL)
    if not found or "ermission is hereby granted" not in found[1]:
        raise ValueError(f"{path} does not begin with its licence")
    return re.sub(r"^ \* ?", "", found[1], flags=re.MULTILINE)


def add_distribution(components: dict[str, Component], header: Path) -> None:
    """Add the Python distribution that a header lies in."""
    place = header.parts.index("site-packages")
    folder, name = Path(*header.parts[: place + 1]), header.parts[place + 1]
    if name == "nvidia":  # This folder belongs to many distributions.
        name = "nvidia-nvtx"
    if name in components:
        return
    distribution = next(
        (found for found in importlib.metadata.distributions(path=[str(folder)]) if found.metadata["Name"] == name),
        None,
    )
    files = [file for file in (distribution.files or []) if "licen" in str(file).lower()] if distribution else []
    if not distribution or not files:
        raise ValueError(f"{header} belongs to no Python distribution with a licence")
    texts = [Path(distribution.locate_file(file)).read_text(encoding="utf-8") for file in files]
    texts += [leading_comment(folder / file) for file in LICENCE_IN_HEADER.get(name, [])]
    components[name] = Component(distribution.version, set(), texts)


def collect(package: Path, build: Path, sources: Path) -> dict[str, Component]:
    """Find the third-party software in a package, by name.

    Parameters
    ----------
    package
        The folder of the package.
    build
        The Ninja build folder from which the package was installed.
    sources
        The source tree of this project.

    Raises
    ------
    ValueError
        If a file has no known owner, or its owner has no licence text.
    """
    components: dict[str, Component] = {}
    libraries = packed_libraries(package)
    owners = debian_owners(f"*/{path.name}" for path in libraries)
    for library in libraries:
        owner = next((owners[path] for path in owners if Path(path).name == library.name), None)
        if not owner:
            raise ValueError(f"no Debian package owns {library.name}, so its licence is not known")
        add_debian(components, owner).files.add(str(library.relative_to(package)))
    compiled_in = {path.resolve() for path in linked_archives(build) | included_headers(build, sources)}
    in_distributions = {path for path in compiled_in if "site-packages" in path.parts}
    for path in sorted(in_distributions):
        add_distribution(components, path)
    owners = debian_owners(map(str, compiled_in - in_distributions))
    for path in sorted(compiled_in - in_distributions):
        if str(path) not in owners:
            raise ValueError(f"no Debian package owns {path}, which is compiled in, so its licence is not known")
    for owner in sorted({owner for owner in owners.values() if not SYSTEM.search(owner)}):
        add_debian(components, owner)
    return components


def write_licences(components: dict[str, Component], folder: Path) -> None:
    """Write THIRD_PARTY.md, licenses/NAME.txt, and the common licences that those refer to."""
    licences = folder / "licenses"
    licences.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, component in sorted(components.items()):
        text = f"\n{'=' * 80}\n\n".join(component.texts)
        (licences / f"{name}.txt").write_text(text, encoding="utf-8")
        for common in {word.rstrip(".") for word in re.findall(rf"{COMMON}/([\w.+-]+)", text)}:
            (licences / f"{common}.txt").write_bytes((COMMON / common).read_bytes())
        files = ", ".join(f"`{file}`" for file in sorted(component.files)) or "compiled in"
        rows.append(f"| {name} | {component.version} | {files} | [{name}.txt](licenses/{name}.txt) |")
    (folder / "THIRD_PARTY.md").write_text(
        "# Software of others in this package\n\n"
        "cs336-opt itself is under the Apache License 2.0 with LLVM exceptions (LICENSE). Where a licence text refers\n"
        f"to `{COMMON}/NAME`, that text is `licenses/NAME.txt`.\n\n"
        "| software | version | files | licence |\n|---|---|---|---|\n" + "\n".join(rows) + "\n",
        encoding="utf-8",
    )


def main() -> int:
    """Read the command line, and write the licences of a package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=Path, required=True, help="folder of the package")
    parser.add_argument("--build", type=Path, required=True, help="build folder from which it was installed")
    parser.add_argument("--output", type=Path, help="folder for the list and the texts (default: the package)")
    arguments = parser.parse_args()
    sources = Path(__file__).resolve().parents[2]
    try:
        components = collect(arguments.package.resolve(), arguments.build.resolve(), sources)
    except (ValueError, FileNotFoundError) as error:
        print(f"third_party.py: error: {error}", file=sys.stderr)
        return 1
    write_licences(components, arguments.output or arguments.package)
    return 0


if __name__ == "__main__":
    sys.exit(main())
