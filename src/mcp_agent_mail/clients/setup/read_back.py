"""What stands in a client's files, read as that client reads them and not as we wrote them: the entry's address and
headers, and the command of a hook.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.clients.setup.edits.json_text import parse
from mcp_agent_mail.clients.setup.edits.text import UnfitText, read_text
from mcp_agent_mail.clients.setup.wishes import FileFormat, FileWish, Json, is_ours

_AM = re.compile(r'^const AM = ("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_URLS = ("httpUrl", "serverUrl", "url")
_REFERENCE = re.compile(r"\$\{env:(\w+)\}|\{env:(\w+)\}|\$\{(\w+)\}|\$(\w+)")


class NotReadBack(Exception):
    """The file does not hold what it should, as its client reads it. The text says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEntry:
    """`unset`: variables that the headers refer to and that nobody has set."""

    url: str
    headers: Mapping[str, str]
    unset: Sequence[str]


def read_entry(wish: FileWish, environ: Mapping[str, str]) -> ReadEntry:
    """The MCP entry of a wish as it stands in its file, its references filled in. Raises NotReadBack."""
    found: object = _values(wish)
    for name in wish.entries[0].path:
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        raise NotReadBack(f"{wish.path} has no entry {'.'.join(wish.entries[0].path)}")
    url = next((found[key] for key in _URLS if isinstance(found.get(key), str)), None)
    if url is None:
        raise NotReadBack(f"the entry in {wish.path} names no address")
    headers = found.get("headers") or {}
    if not isinstance(headers, dict):
        raise NotReadBack(f"the headers of the entry in {wish.path} are no object")
    given = {str(name): str(value) for name, value in headers.items()}
    if variable := found.get("bearer_token_env_var"):
        given["Authorization"] = f"Bearer ${{{variable}}}"
    unset: list[str] = []

    def fill(reference: re.Match[str]) -> str:
        name = next(filter(None, reference.groups()))
        if not environ.get(name):
            unset.append(name)
        return environ.get(name, "")

    return ReadEntry(url=url, headers={name: _REFERENCE.sub(fill, value) for name, value in given.items()}, unset=unset)


def read_command(wishes: Sequence[FileWish], client: str, event: str) -> str | None:
    """The shell command of a hook as it stands in the client's files, in a plugin too; None where there is none.

    Raises NotReadBack.
    """
    mark = f"hook {client} {event}"
    for wish in wishes:
        if wish.file_format is FileFormat.FILE and not wish.is_executable:
            return f"{shlex.quote(_program_of_plugin(wish.path))} {mark}"
        if wish.file_format is FileFormat.FILE and wish.is_executable and wish.path.name == event:
            return _program(wish.path)
        for hook in wish.hooks:
            if hook.mark == mark:
                return _command_in(_values(wish), hook.path, mark, wish.path)
    return None


def _program(path: Path) -> str:
    if not path.is_file() or not path.stat().st_mode & 0o100:
        raise NotReadBack(f"{path} is no program")
    return shlex.quote(str(path))


def _program_of_plugin(path: Path) -> str:
    """The one line of a plugin that says which `am` it runs."""
    try:
        found = _AM.search(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as unfit:
        raise NotReadBack(f"{path} cannot be read back: {unfit}") from unfit
    if found is None:
        raise NotReadBack(f"{path} names no am")
    return str(json.loads(found[1]))


def _command_in(values: Json, path: Sequence[str], mark: str, file: Path) -> str:
    found = values
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    for item in found if isinstance(found, list) else []:
        inner = item.get("hooks") if isinstance(item, dict) else None
        for handler in inner if isinstance(inner, list) else [item]:
            if is_ours(handler, mark):
                return str(handler.get("command") or handler.get("bash"))
    raise NotReadBack(f"{file} has no hook {mark}")


def _values(wish: FileWish) -> Json:
    try:
        text = read_text(wish.path.read_bytes()).text
        if wish.file_format is FileFormat.TOML:
            return tomllib.loads(text)
        try:
            return json.loads(text)
        except ValueError:
            return parse(text).value
    except (OSError, UnfitText, ValueError, RecursionError) as unfit:
        raise NotReadBack(f"{wish.path} cannot be read back: {str(unfit)[:200]}") from unfit
