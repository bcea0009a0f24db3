"""Reading one `.env` file: names, values and the lines they stand on. Standard library only.

The syntax is python-decouple's (a test holds both readings equal): `NAME=value`, optional quotes
around the whole value, `#` begins a comment line. It knows neither `export` nor a comment behind
an unquoted value and would take both into the name or the value, so such lines are faults here.
"""

from __future__ import annotations

import errno
import os
import stat
from io import StringIO
from pathlib import Path

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import open_plain

ENCODING = "utf-8-sig"
"""UTF-8; a byte order mark, as some editors write it, does not become part of the first name."""

MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvLine:
    number: int
    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvFault:
    """A line that would be misread. `name` is the setting that was probably meant."""

    number: int
    name: str
    text: str
    expected: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvFile:
    path: Path
    lines: tuple[EnvLine, ...]
    faults: tuple[EnvFault, ...]

    def values(self) -> dict[str, str]:
        """The values by name; the last of several lines with one name wins."""
        return {line.name: line.value for line in self.lines}

    def place(self, name: str) -> str:
        """`file:line` of the line that counts."""
        numbers = [line.number for line in self.lines if line.name == name]
        return f"{self.path}:{numbers[-1]}"

    def duplicates(self) -> dict[str, list[int]]:
        """The line numbers of names that stand more than once."""
        numbers: dict[str, list[int]] = {}
        for line in self.lines:
            numbers.setdefault(line.name, []).append(line.number)
        return {name: found for name, found in numbers.items() if len(found) > 1}


def read_env_file(path: Path) -> EnvFile:
    """The lines and faults of one file. Raises OSError when `path` cannot be read or is too long, and
    UnicodeDecodeError when it is not UTF-8.
    """
    lines: list[EnvLine] = []
    faults: list[EnvFault] = []
    text = _read(path).decode(ENCODING)
    for number, raw in enumerate(StringIO(text, newline=None), start=1):
        match parse_env_line(number, raw):
            case EnvFault() as fault:
                faults.append(fault)
            case EnvLine() as line:
                lines.append(line)
    return EnvFile(path=path, lines=tuple(lines), faults=tuple(faults))


def parse_env_line(number: int, raw: str) -> EnvLine | EnvFault | None:
    """What one line of a file says; None for a comment, and for a line with nothing in it."""
    line = raw.strip()
    if not line or line.startswith("#"):
        return None
    if fault := _fault(number, line):
        return fault
    name, _, value = line.partition("=")
    return EnvLine(number=number, name=name.strip(), value=_unquoted(value.strip()))


def _read(path: Path) -> bytes:
    """What lies in the current folder may be a stranger's: nothing endless is read, nor waited for. The null device is
    what stands for no file.
    """
    if _is_null_device(path):
        return b""
    with open(open_plain(path), "rb") as file:  # noqa: PTH123  # of a descriptor
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise OSError(errno.EFBIG, f"longer than {MAX_BYTES} bytes", str(path))
    return content


def _is_null_device(path: Path) -> bool:
    found = path.stat()
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == Path(os.devnull).stat().st_rdev


def _is_quoted(value: str) -> bool:
    return len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""


def _unquoted(value: str) -> str:
    return value[1:-1] if _is_quoted(value) else value


def _fault(number: int, line: str) -> EnvFault | None:
    name, equals, value = (part.strip() for part in line.partition("="))
    words = name.split()
    if not equals:
        return EnvFault(
            number=number, name=words[0], text=line, expected="NAME=value", hint="Write a `=` between name and value."
        )
    if len(words) > 1 and words[0] == "export":
        return EnvFault(
            number=number, name=words[1], text=value, expected="NAME=value", hint="Remove the word `export`."
        )
    if not _is_quoted(value) and (value.startswith("#") or " #" in value or "\t#" in value):
        return EnvFault(
            number=number,
            name=name,
            text=value,
            expected="a value without a comment behind it",
            hint="Move the comment to a line of its own, or quote the whole value.",
        )
    if value[:1] in ("'", '"') and not _is_quoted(value):
        return EnvFault(
            number=number,
            name=name,
            text=value,
            expected="a value whose quote is closed",
            hint=f"Close the {value[0]}, or leave it out.",
        )
    return None
