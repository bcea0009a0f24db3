"""What stands in a client's files, read as that client reads them and not as we wrote them: the entry's address and
headers, and whether a hook is the one that we wish for. Nothing of it is run, and no address of it is called, but what
we would have written ourselves.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from mcp_agent_mail.clients.setup.edits.json_text import parse
from mcp_agent_mail.clients.setup.edits.text import UnfitText, read_text
from mcp_agent_mail.clients.setup.staged_file import FileNotWritable
from mcp_agent_mail.clients.setup.targets import Target, look_at
from mcp_agent_mail.clients.setup.wishes import (
    FileFormat,
    FileWish,
    HookWish,
    Json,
    commands_of,
    is_ours,
    is_ours_in_other_words,
)
from mcp_agent_mail.core.lazy.dataclass import dataclass

TOKEN_VARIABLE = "AGENT_MAIL_TOKEN"
_URLS = ("httpUrl", "serverUrl", "url")
_REFERENCE = re.compile(rf"\$\{{env:{TOKEN_VARIABLE}\}}|\{{env:{TOKEN_VARIABLE}\}}|\$\{{{TOKEN_VARIABLE}\}}")


class NotReadBack(Exception):
    """The file does not hold what it should, as its client reads it. The text says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEntry:
    """`unset`: variables that the headers refer to and that nobody has set."""

    url: str
    headers: Mapping[str, str]
    unset: Sequence[str]


def read_entry(wish: FileWish, environ: Mapping[str, str], *, within: Path | None = None) -> ReadEntry:
    """The MCP entry of a wish as it stands in its file. It has the address that is wished, and of its references
    only that to our token is filled in: whoever wrote the file could ask for any other. Raises NotReadBack.
    """
    found: object = _values(wish, within)
    for name in wish.entries[0].path:
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        raise NotReadBack(f"{wish.path} has no entry {'.'.join(wish.entries[0].path)}")
    url = _address(found)
    if url is None:
        raise NotReadBack(f"the entry in {wish.path} names no address")
    if url != _address(wish.entries[0].value):
        raise NotReadBack(f"the entry in {wish.path} leads elsewhere, to {url}, which is not called")
    given = found.get("headers") or {}
    if not isinstance(given, dict):
        raise NotReadBack(f"the headers of the entry in {wish.path} are no object")
    headers = {str(name): str(value) for name, value in given.items()}
    if found.get("bearer_token_env_var") == TOKEN_VARIABLE:
        headers["Authorization"] = f"Bearer ${{{TOKEN_VARIABLE}}}"
    token = environ.get(TOKEN_VARIABLE, "")
    refers = any(_REFERENCE.search(value) for value in headers.values())
    return ReadEntry(
        url=url,
        headers={name: _REFERENCE.sub(lambda _: token, value) for name, value in headers.items()},
        unset=[TOKEN_VARIABLE] if refers and not token else [],
    )


def find_hook_file(wishes: Sequence[FileWish], client: str, event: str) -> FileWish | None:
    """The file in which the hook of an event should stand, a plugin or a program too."""
    for wish in wishes:
        if wish.file_format is FileFormat.FILE and (not wish.is_executable or wish.path.name == event):
            return wish
        if any(hook.mark == f"hook {client} {event}" for hook in wish.hooks):
            return wish
    return None


def require_hook(wish: FileWish, client: str, event: str, *, within: Path | None = None) -> None:
    """Raises NotReadBack unless the file has the hook exactly as it is wished."""
    if wish.file_format is FileFormat.FILE:
        target = _look_at(wish, within)
        if target.content is None or target.content.decode("utf-8", "replace") != wish.content:
            raise NotReadBack(f"{wish.path} is not what am setup writes")
        if wish.is_executable and not (target.mode or 0) & 0o100:
            raise NotReadBack(f"{wish.path} may not be run")
        return
    hook = next(hook for hook in wish.hooks if hook.mark == f"hook {client} {event}")
    found = list(_ours_in(_values(wish, within), hook))
    if not found and any(_ours_in(_values(wish, within), hook, is_ours_in_other_words)):
        raise NotReadBack(
            f"{wish.path} runs {hook.mark} in other words than {_command_wished(hook)}, which are not run"
        )
    if not found:
        raise NotReadBack(f"{wish.path} has no hook {hook.mark} of {_command_wished(hook)}")
    if found != [[_command_wished(hook)]]:
        raise NotReadBack(f"{wish.path} runs another command for {hook.mark} than {_command_wished(hook)}")


def _address(entry: Mapping[str, Json]) -> str | None:
    return next((entry[key] for key in _URLS if isinstance(entry.get(key), str)), None)


def _command_wished(hook: HookWish) -> str:
    return commands_of(hook.item.get("hooks", [hook.item])[0])[0]


def _ours_in(values: Json, hook: HookWish, is_meant: Callable[[Json, str], bool] = is_ours) -> Iterator[list[str]]:
    """The commands of each handler of ours."""
    found = values
    for name in hook.path:
        found = found.get(name) if isinstance(found, dict) else None
    for item in found if isinstance(found, list) else []:
        inner = item.get("hooks") if isinstance(item, dict) else None
        for handler in inner if isinstance(inner, list) else [item]:
            if is_meant(handler, hook.mark):
                yield commands_of(handler)


def _look_at(wish: FileWish, within: Path | None) -> Target:
    """A plain file of bearable length: anything else could keep us for ever."""
    try:
        return look_at(wish.path, within=within, follows=wish.file_format is not FileFormat.FILE)
    except FileNotWritable as unfit:
        raise NotReadBack(f"{wish.path} cannot be read back: {unfit.message}") from unfit


def _values(wish: FileWish, within: Path | None) -> Json:
    content = _look_at(wish, within).content
    if content is None:
        raise NotReadBack(f"{wish.path} cannot be read back: it is not there")
    try:
        text = read_text(content).text
        if wish.file_format is FileFormat.TOML:
            return tomllib.loads(text)
        try:
            return json.loads(text, parse_constant=_refuse)
        except ValueError:
            return parse(text).value
    except (UnfitText, ValueError, RecursionError) as unfit:
        raise NotReadBack(f"{wish.path} cannot be read back: {str(unfit)[:200]}") from unfit


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is no JSON")
