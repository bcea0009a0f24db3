"""The bytes of a file with our wishes put in or taken out, whatever its format."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from mcp_agent_mail.clients.setup.edits import json_wishes, toml_wishes, whole_files
from mcp_agent_mail.clients.setup.edits.look import Difference
from mcp_agent_mail.clients.setup.edits.text import FileText, read_text
from mcp_agent_mail.clients.setup.hidden_files import require_nothing_hidden
from mcp_agent_mail.clients.setup.wishes import FileFormat, FileWish

_EDITORS: dict[FileFormat, ModuleType] = {
    FileFormat.JSON: json_wishes,
    FileFormat.TOML: toml_wishes,
    FileFormat.FILE: whole_files,
}


def put_into(content: bytes | None, wishes: Sequence[FileWish]) -> bytes:
    """What the file should be; the same bytes where all is there. Raises UnfitText, and OtherFileIgnored where there is
    no file and there should better be none.
    """
    if content is None:
        require_nothing_hidden(wishes)
    held = read_text(content or b"")
    text = held.text
    for wish in wishes:
        text = _EDITORS[wish.file_format].put_into(text, wish)
    return held.with_text(text)


def differences(content: bytes | None, wish: FileWish) -> list[Difference]:
    """What of a wish is missing (`line` None), or differs. Raises UnfitText, and OtherFileIgnored."""
    if content is None:
        require_nothing_hidden([wish])
    if content is None or (wish.file_format is FileFormat.FILE and not content.strip()):
        return [Difference(what=wish.path.name, line=None)]
    found: list[Difference] = _EDITORS[wish.file_format].differences(read_text(content).text, wish)
    return found


def reworded(content: bytes | None, wishes: Sequence[FileWish]) -> list[Difference]:
    """Hooks of ours in other words than ours, which neither a setup nor the way back touches: in JSON only, for a
    program or a plugin is ours as a whole or not at all. Raises UnfitText.
    """
    text = read_text(content or b"").text
    return [one for wish in wishes if wish.file_format is FileFormat.JSON for one in json_wishes.reworded(text, wish)]


def take_out(content: bytes, wishes: Sequence[FileWish], original: bytes | None) -> bytes | None:
    """The file without our wishes, with what stood in their place; None where nothing of others' is left.

    Raises UnfitText.
    """
    if not wishes:
        return content
    held = read_text(content)
    before = None if original is None else _text_of(original)
    text: str | None = _EDITORS[wishes[0].file_format].take_out(held.text, _as_one(wishes), before)
    return None if text is None else held.with_text(text)


def _text_of(original: bytes) -> str:
    held: FileText = read_text(original)
    return held.text


def _as_one(wishes: Sequence[FileWish]) -> FileWish:
    """The wishes for one file as one: it is ours alone only once all are out."""
    first = wishes[0]
    return FileWish(
        client=first.client,
        part=first.part,
        scope=first.scope,
        path=first.path,
        file_format=first.file_format,
        entries=[entry for wish in wishes for entry in wish.entries],
        hooks=[hook for wish in wishes for hook in wish.hooks],
        content=first.content,
        is_executable=first.is_executable,
    )
