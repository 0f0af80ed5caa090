"""The source files of the Python package."""

from __future__ import annotations

from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "python-bindings/cs336"


def missing_sources(package: Path) -> list[str]:
    """Return the files of the sources that a built or installed package lacks."""
    sources = [path.relative_to(SOURCES) for path in SOURCES.rglob("*") if path.suffix in (".py", ".pyi")]
    assert len(sources) > 10, SOURCES
    return sorted(str(path) for path in [*sources, Path("py.typed")] if not (package / path).is_file())
