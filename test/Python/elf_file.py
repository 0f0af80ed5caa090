"""Reads the parts of an ELF file that determine how it is loaded."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

# Names and numbers of the ELF specification and of glibc's <elf.h>.
ET_DYN = 3
PT_DYNAMIC, PT_INTERP, PT_GNU_STACK, PT_GNU_RELRO = 2, 3, 0x6474E551, 0x6474E552
PF_X = 1
DT_STRTAB, DT_STRSZ, DT_FLAGS, DT_FLAGS_1 = 5, 10, 30, 0x6FFFFFFB
DF_BIND_NOW, DF_1_NOW, DF_1_PIE = 8, 1, 0x08000000


@dataclass(frozen=True)
class Segment:
    """A program header."""

    kind: int
    flags: int
    offset: int
    address: int
    size: int


class ElfFile:
    """A 64-bit little-endian program or shared library."""

    def __init__(self, path: Path) -> None:
        self._bytes = path.read_bytes()
        assert self._bytes[:6] == b"\x7fELF\x02\x01", f"{path} is not a 64-bit little-endian ELF file"
        self.type, start, size, count = (
            self._read(format, offset) for format, offset in (("<H", 16), ("<Q", 32), ("<H", 54), ("<H", 56))
        )
        self.segments = [Segment(*struct.unpack_from("<IIQQ8xQ", self._bytes, start + i * size)) for i in range(count)]
        self._dynamic = dict(self._entries())

    def _read(self, format: str, offset: int) -> int:
        return struct.unpack_from(format, self._bytes, offset)[0]

    def find(self, kind: int) -> Segment | None:
        """Return the first segment of a kind."""
        return next((segment for segment in self.segments if segment.kind == kind), None)

    def _entries(self) -> list[tuple[int, int]]:
        dynamic = self.find(PT_DYNAMIC)
        assert dynamic, "it is linked statically"
        return [struct.unpack_from("<QQ", self._bytes, dynamic.offset + at) for at in range(0, dynamic.size, 16)]

    def flags(self, tag: int) -> int:
        """Return an entry of the dynamic section, or 0 without one."""
        return self._dynamic.get(tag, 0)

    def dynamic_strings(self) -> set[bytes]:
        """Return names that include those of the symbols that the file imports or exports."""
        address = self._dynamic[DT_STRTAB]
        holder = next(s for s in self.segments if s.kind == 1 and s.address <= address < s.address + s.size)
        start = address - holder.address + holder.offset
        return set(self._bytes[start : start + self._dynamic[DT_STRSZ]].split(b"\0"))


def missing_protections(path: Path) -> list[str]:
    """Return the protections of every build that a file lacks."""
    file = ElfFile(path)
    stack = file.find(PT_GNU_STACK)
    has = {
        "a position-independent executable": file.type == ET_DYN
        and (not file.find(PT_INTERP) or bool(file.flags(DT_FLAGS_1) & DF_1_PIE)),
        "a stack without code": stack is not None and not stack.flags & PF_X,
        "RELRO": file.find(PT_GNU_RELRO) is not None,
        "BIND_NOW": bool(file.flags(DT_FLAGS) & DF_BIND_NOW or file.flags(DT_FLAGS_1) & DF_1_NOW),
        "the stack protector": b"__stack_chk_fail" in file.dynamic_strings(),
    }
    return [what for what, is_there in has.items() if not is_there]
