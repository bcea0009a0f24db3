"""Files of a person's that a client stops to read once one of ours is there: nothing is made then, and it is said."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.clients.setup.edits.json_text import parse
from mcp_agent_mail.clients.setup.edits.text import UnfitText, line_at, read_text
from mcp_agent_mail.clients.setup.staged_file import FileNotWritable
from mcp_agent_mail.clients.setup.targets import look_at
from mcp_agent_mail.clients.setup.wishes import FileWish, IgnoredFile


class OtherFileIgnored(FileNotWritable):
    """A file that is not made, since what a person has elsewhere would no longer be read."""


def require_nothing_hidden(wishes: Sequence[FileWish]) -> None:
    """Of files that are not there. Raises OtherFileIgnored, with the other file, its line, and what to do; also where
    it cannot be told what stands there.
    """
    for wish in wishes:
        for hidden in wish.hides:
            _require_nothing_in(hidden)


def _require_nothing_in(hidden: IgnoredFile) -> None:
    what = ".".join(hidden.keys) or "what stands"
    try:
        content = look_at(hidden.path).content
        if content is None or not content.strip():
            return
        text = read_text(content).text
        found = parse(text).find_path(hidden.keys)
    except (UnfitText, FileNotWritable) as unfit:
        at = f":{unfit.line}" if isinstance(unfit, UnfitText) else ""
        raise OtherFileIgnored(
            f"{what} in {hidden.path} {hidden.reason}, and that file cannot be read ({hidden.path}{at}: "
            f"{unfit.message})",
            hint="Mend that file and run am setup again.",
        ) from unfit
    if found is not None and found.value:
        place = f"{hidden.path}:{line_at(text, found.start)}"
        raise OtherFileIgnored(f"{what} in {place} {hidden.reason}", hint=hidden.step)
