"""The block in a file for agents that is ours: put in, brought up to date and taken out, byte for byte.

Between its two lines stands our text, and nothing else in the file changes. What was added around it, so that it stands
by itself, can be told from where the file ends: so taking it out gives the bytes of before.
"""

from __future__ import annotations

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass

BEGIN = b"<!-- agent-mail:begin -->"
END = b"<!-- agent-mail:end -->"
_PAIR = (
    f"Leave one line {BEGIN.decode()} and one line {END.decode()} behind it, or neither. What am docs insert has "
    "written between them is replaced; other text there is not, and is named."
)
_BOM = b"\xef\xbb\xbf"


class BrokenMarks(InvalidInput):
    """The lines that begin and end our block do not: nobody knows what between them is ours."""


class NoText(InvalidInput):
    """The file is none of text in UTF-8, or a relative of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """From the first byte of its first line to the last of its last, without that one's end. `eol` is its own."""

    start: int
    end: int
    eol: bytes


def insert(content: bytes, text: str, *, is_new: bool = False) -> bytes:
    """The content with our block, at its end unless it has one. Doing it again changes nothing. `is_new`: the file is
    not there yet, which `remove` will know.

    Raises BrokenMarks and NoText.
    """
    found = _find(content)
    if found is not None:
        return content[: found.start] + _written(text, found.eol) + content[found.end :]
    eol = _eol_of(content)
    block = _written(text, eol)
    if content.removeprefix(_BOM) == b"":
        return content + block + (eol if is_new else b"")
    if content.endswith(b"\n"):
        return content + eol + block + eol
    return content + eol + eol + block


def remove(content: bytes) -> bytes | None:
    """The content as it was before our block came, with what others have changed since; None for a file that we made
    and that is ours alone. Raises BrokenMarks and NoText.
    """
    found = _find(content)
    if found is None:
        return content
    before, after, eol = content[: found.start], content[found.end :], found.eol
    if before.removeprefix(_BOM) == b"" and after == eol:
        return None
    if after:
        return before.removesuffix(eol) + after.removeprefix(eol)
    return before.removesuffix(eol + eol)


def between(content: bytes) -> tuple[int, bytes] | None:
    """What stands between the marks, with plain line ends, and the number of its first line; None without a block.
    Raises BrokenMarks and NoText.
    """
    found = _find(content)
    if found is None:
        return None
    inside = content[found.start + len(BEGIN) : found.end - len(END)]
    return content.count(b"\n", 0, found.start) + 2, inside.replace(b"\r\n", b"\n").strip(b"\n")


def _written(text: str, eol: bytes) -> bytes:
    return eol.join([BEGIN, *text.rstrip("\n").encode().split(b"\n"), END])


def _eol_of(content: bytes) -> bytes:
    """As the first line ends."""
    first = content.find(b"\n")
    return b"\r\n" if first > 0 and content[first - 1 : first] == b"\r" else b"\n"


def _find(content: bytes) -> _Block | None:
    if b"\0" in content:
        raise NoText("It holds NUL bytes: it is no text in UTF-8.")
    begins: list[tuple[int, int]] = []
    ends: list[tuple[int, int]] = []
    at = 0
    for number, line in enumerate(content.split(b"\n"), 1):
        bare = line.removeprefix(_BOM) if number == 1 else line
        for mark, found in ((BEGIN, begins), (END, ends)):
            if bare.strip().startswith(mark):
                _require_alone(bare, mark, number)
                found.append((number, at + line.index(mark)))
        at += len(line) + 1
    if not begins and not ends:
        return None
    _require_pair(begins, ends)
    (_, start), (_, last) = begins[0], ends[0]
    is_crlf = content[start + len(BEGIN) : start + len(BEGIN) + 2] == b"\r\n"
    return _Block(start=start, end=last + len(END), eol=b"\r\n" if is_crlf else b"\n")


def _require_alone(line: bytes, mark: bytes, number: int) -> None:
    if line.strip() != mark:
        raise BrokenMarks(
            f"Line {number} begins with {mark.decode()} and goes on.", hint="Give the mark a line of its own."
        )


def _require_pair(begins: list[tuple[int, int]], ends: list[tuple[int, int]]) -> None:
    """One of each, in their order."""
    if len(begins) == len(ends) == 1 and begins[0] < ends[0]:
        return
    if not begins or not ends or begins[0] > ends[0]:
        number, mark = (ends[0][0], END) if ends and (not begins or ends[0] < begins[0]) else (begins[0][0], BEGIN)
        other = BEGIN if mark == END else END
        where = "before" if mark == END else "after"
        said = f"Line {number} has {mark.decode()}, and no {other.decode()} stands {where} it."
    else:
        number = begins[1][0] if len(begins) > 1 else ends[1][0]
        said = f"Line {number} has a second {(BEGIN if len(begins) > 1 else END).decode()}."
    raise BrokenMarks(said, hint=_PAIR)
