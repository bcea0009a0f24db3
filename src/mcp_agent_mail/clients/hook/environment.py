"""The few settings that a hook reads, by hand: reading them all takes longer than a hook may take altogether.

Names, order and meaning are those of `core/settings/client.py`; a test holds both readings equal. What cannot be used
stands at its default, since a hook must go on.
"""

from __future__ import annotations

import os
import re
import stat

from mcp_agent_mail.core.home_folder import home_folder
from mcp_agent_mail.core.unfilled_text import said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""What an agent can be called."""

DEFAULT_INTERVAL_S = 30
_MAX_INTERVAL_S = 3_600
_MAX_FILE = 1 << 20
_MAX_PORT = 65_535

_FORMER = {
    "STORAGE_ROOT": ("MCP_MAIL_STORE",),
    "HTTP_HOST": ("HOST",),
    "HTTP_PORT": ("PORT",),
    "AGENT_NAME": ("AGENT_MAIL_AGENT",),
    "AGENT_MAIL_TOKEN": ("INTEGRATION_BEARER_TOKEN",),
}
_SECRET = re.compile(r"[!-~]{1,4096}")
_URL_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class HookSettings:
    """What of a client's settings a hook needs. No dataclass: importing those takes ten milliseconds."""

    __slots__ = (
        *("agent", "agent_token", "host", "http_path", "interval_s", "names_store", "port"),
        *("is_misnamed", "project", "root", "token", "url", "window"),
    )

    def __init__(self, environ: Mapping[str, str]) -> None:
        found = SettingSources(environ)
        root = found.find("STORAGE_ROOT")
        self.root: str = (root and found.path(*root)) or f"{found.home}/.mcp_agent_mail"
        self.names_store: bool = root is not None
        self.host: str = _address(found.text("HTTP_HOST")) or "127.0.0.1"
        self.port: int = _whole(found.text("HTTP_PORT"), _MAX_PORT, 8765)
        self.http_path: str = _fit(_URL_PATH, found.text("HTTP_PATH").rstrip("/")) or "/mcp"
        url = found.text("AGENT_MAIL_URL")
        self.url: str | None = url if url.startswith(("http://", "https://")) else None
        self.token: str | None = _fit(_SECRET, found.text("AGENT_MAIL_TOKEN"))
        self.agent_token: str | None = _fit(_SECRET, found.text("AGENT_MAIL_AGENT_TOKEN"))
        self.project: str | None = _project(found)
        name = said(found.text("AGENT_NAME")) or ""
        self.agent: str | None = _fit(NAME, name)
        self.is_misnamed: bool = bool(name) and self.agent is None
        self.interval_s: int = _whole(found.text("AGENT_MAIL_INTERVAL"), _MAX_INTERVAL_S, DEFAULT_INTERVAL_S)
        self.window: str | None = _fit(_UUID, found.text("MCP_AGENT_MAIL_WINDOW_ID"))


class SettingSources:
    """Environment, then the one `.env`: each with the folder that relative paths of it start at."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.home = home_folder(environ)
        named = environ.get("AGENT_MAIL_ENV_FILE", "").strip()
        # A path without a home of its own is relative to where we stand.
        file = self.path(named, os.curdir) if named else f"{self.home}/.config/mcp-agent-mail/.env"
        self._folder = os.path.dirname(file or "")  # noqa: PTH120
        self._of_file = _read_env_file(file) if file else {}

    def path(self, text: str, folder: str) -> str | None:
        """The absolute path that a setting's text means; None where it means none."""
        if _CONTROL.search(text):
            return None
        if text == "~" or text.startswith("~/"):
            text = self.home + text[1:]
        elif text.startswith("~"):
            return None
        return os.path.abspath(os.path.join(folder, text))  # noqa: PTH100, PTH118

    def find(self, name: str) -> tuple[str, str] | None:
        """The text of a setting and the folder it was given in; the name itself before former ones."""
        for one in (name, *_FORMER.get(name, ())):
            if one == "HOST" and not _address(self._text(one)[0]):
                continue  # Shells export it as the machine's name.
            text, folder = self._text(one)
            if text:
                return text, folder
        return None

    def text(self, name: str) -> str:
        """The text of a setting; blank where it is not given."""
        found = self.find(name)
        return found[0] if found else ""

    def _text(self, name: str) -> tuple[str, str]:
        if text := self._environ.get(name, "").strip():
            return text, os.curdir
        return self._of_file.get(name, ""), self._folder


def _read_env_file(file: str) -> dict[str, str]:
    """The lines that can be read, as `core/settings/env_file.py` reads them. Never waits."""
    try:
        with open(file, "rb", opener=_open_at_once) as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return {}
            content = opened.read(_MAX_FILE + 1)
        text = content.decode("utf-8-sig") if len(content) <= _MAX_FILE else ""
    except (OSError, ValueError):
        return {}
    found = {}
    for raw in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = raw.strip()
        if not line.startswith("#") and "=" in line:
            name, _, value = (part.strip() for part in line.partition("="))
            quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
            if not quoted and (value.startswith(("#", "'", '"')) or " #" in value or "\t#" in value):
                continue
            found[name] = value[1:-1] if quoted else value
    return found


def _open_at_once(file: str, flags: int) -> int:
    return os.open(file, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _fit(pattern: re.Pattern[str], text: str) -> str | None:
    return text if pattern.fullmatch(text) else None


def _whole(text: str, most: int, default: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 and int(text) <= most else default


def _address(text: str) -> str | None:
    """An IP address or localhost."""
    bare = text.removeprefix("[").removesuffix("]")
    if not bare or bare.lower() == "localhost":
        return bare.lower() or None
    import ipaddress  # noqa: PLC0415  # only where an address is given

    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return None


def _project(found: SettingSources) -> str | None:
    given = found.find("AGENT_MAIL_PROJECT")
    if given is None or said(given[0]) is None or _CONTROL.search(given[0]):
        return None
    text, folder = given
    return found.path(text, folder) if text.startswith(("/", "~", ".")) else text
