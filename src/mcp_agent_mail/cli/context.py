"""What a command finds around it: settings, the store, who owns it, and which tokens it may show to whom."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from mcp_agent_mail.cli.exit_codes import BadSettings, NoServer
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.ids import OPERATOR_TOKEN_PREFIX
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.core.settings.client import ClientSettings, load_client_settings
from mcp_agent_mail.core.settings.kinds import Secret
from mcp_agent_mail.core.settings.mcp_paths import without_mcp_path
from mcp_agent_mail.core.settings.server import LoadedSettings, Settings, load_settings
from mcp_agent_mail.core.settings.sources import COMMAND_LINE, DEFAULT, SettingsError
from mcp_agent_mail.core.store_owner import SWAP_FILE, Owner, read_owner

_MAX_TOKEN_BYTES = 1_024
_STORE_SETTINGS = ("STORAGE_ROOT", "DATABASE_URL")


class StoreUnfinished(Unavailable):
    """Parts of the store have been replaced and parts have not."""


@dataclass(frozen=True, slots=True)
class CliContext:
    """The settings of this command, read once."""

    settings: Settings
    has_passed_over: bool = False
    """A `./.env` names other settings, and was not read."""
    names_store: bool = False
    """STORAGE_ROOT or DATABASE_URL was given: it is this store that is meant, and no other."""
    acts_as_agent: bool = False
    """An agent runs this command: the operator's token is neither read nor sent, wherever it lies."""

    def as_agent(self) -> Self:
        """The same surroundings, for a command that agents run."""
        return replace(self, acts_as_agent=True)

    @property
    def storage_root(self) -> Path:
        return self.settings.storage_root

    def store_exists(self) -> bool:
        """For who reads without owning it. Raises StoreUnfinished while the store is half another one."""
        require_settled(self.storage_root)
        return self.settings.database_path.is_file()

    def may_own_store(self) -> bool:
        """Is there a store, or one that whoever takes its lock makes whole first?"""
        return self.settings.database_path.is_file() or _is_being_swapped(self.storage_root)

    def is_being_swapped(self) -> bool:
        """Is it half another store, so that whoever takes its lock has to make it whole first?"""
        return _is_being_swapped(self.storage_root)

    def require_store(self, hint: str = "Look at STORAGE_ROOT: am config show") -> None:
        """Raises NoServer where there is no store, DatabaseLost where all but its database is there."""
        is_there = self.store_exists()
        self.require_not_lost()
        if not is_there:
            raise NoServer(f"There is no store in {self.storage_root}.", hint=hint)

    def require_not_lost(self) -> None:
        """Raises DatabaseLost where there are archives and no database, nothing or a file that is none; a store that
        has not begun yet passes.
        """
        from mcp_agent_mail.features.archiving.lost_database import require_database

        require_database(self.storage_root, self.settings.database_path)

    def named_url(self) -> str | None:
        """The server that AGENT_MAIL_URL names; it may be given with the path for MCP."""
        url = self.settings.agent_mail_url
        return None if url is None else without_mcp_path(url, self.settings.http_path)

    def owner(self) -> Owner | None:
        """Who owns the store of these surroundings; None when nobody does."""
        return read_owner(self.storage_root)

    def owner_url(self) -> str | None:
        """The server that owns the store, as it noted beside its lock."""
        owner = self.owner()
        return owner.url if owner is not None else None

    def settings_url(self) -> str:
        """Where a server with these settings listens. A wildcard address is reached over loopback."""
        host = self.settings.http_host
        if host != "localhost" and (bound := ip_address(host)).is_unspecified:
            host = "127.0.0.1" if bound.version == 4 else "::1"
        return f"http://{f'[{host}]' if ':' in host else host}:{self.settings.http_port}"

    def bearer_token_for(self, url: str) -> str | None:
        """The operator's token for the server of this very store, AGENT_MAIL_TOKEN for any other.

        The operator's token opens everything, so it is shown to nobody but the process that wrote it, and by no
        command that acts as an agent.
        """
        if self.acts_as_agent:
            return _unless_operators(self.settings.agent_mail_token)
        owner_url = self.owner_url()
        if owner_url is not None and _address(owner_url) == _address(url):
            operator_token = read_operator_token(self.storage_root)
            if operator_token is not None:
                return operator_token
        token = self.settings.agent_mail_token
        return token.reveal() if token else None

    def agent_token(self) -> str | None:
        """AGENT_MAIL_AGENT_TOKEN; None where it is not given, or would make an agent the operator."""
        token = self.settings.agent_mail_agent_token
        if self.acts_as_agent:
            return _unless_operators(token)
        return token.reveal() if token else None


def _unless_operators(token: Secret | None) -> str | None:
    text = token.reveal() if token else None
    return None if text is None or text.startswith(OPERATOR_TOKEN_PREFIX) else text


def load_context(*, is_among_strangers: bool = False) -> CliContext:
    """The settings of a command. Says on stderr that a `./.env` was passed over. Raises BadSettings, which lists every
    mistake.

    `is_among_strangers`: the command works in other people's repositories, whose `.env` is not even mentioned.
    """
    loaded = read_settings()
    if loaded.passed_over is not None and not is_among_strangers:
        sys.stderr.write(visible(f"Notice: {loaded.passed_over}\n"))
    return CliContext(
        loaded.settings,
        has_passed_over=loaded.passed_over is not None,
        names_store=any(loaded.sources[name].place != DEFAULT for name in _STORE_SETTINGS),
    )


def read_settings(
    *, overrides: Mapping[str, str] | None = None, env_file: Path | None = None, overridden_by: str = COMMAND_LINE
) -> LoadedSettings:
    """The settings with their sources and notices. Raises BadSettings, which lists every mistake."""
    try:
        return load_settings(
            os.environ, cwd=Path.cwd(), overrides=overrides, env_file=env_file, overridden_by=overridden_by
        )
    except SettingsError as wrong:
        raise bad_settings(wrong) from wrong


def read_client_settings(env_file: Path | None) -> ClientSettings:
    """Only what a client reads, and never the `./.env` of where we stand. Raises BadSettings."""
    try:
        return load_client_settings(os.environ, env_file=env_file)
    except SettingsError as wrong:
        raise bad_settings(wrong) from wrong


def bad_settings(wrong: SettingsError) -> BadSettings:
    """What a person is told of them: every mistake, and where to read on."""
    count = len(wrong.mistakes)
    listed = "".join(f"\n  {mistake}" for mistake in wrong.mistakes)
    return BadSettings(
        f"{count} {'setting' if count == 1 else 'settings'} cannot be used:{listed}",
        hint="Nothing was opened. `am config check` tries again, docs/reference/settings.md has them all.",
    )


def read_operator_token(storage_root: Path) -> str | None:
    """The token that the server wrote for its operator; None when there is none that we may read."""
    try:
        content = read_plain(str(storage_root / "operator.token"), _MAX_TOKEN_BYTES) or b""
    except UnfitFile:
        return None
    return content.decode(errors="replace").strip() or None


def require_settled(storage_root: Path) -> None:
    """Raise StoreUnfinished while the store is half another one: for who reads it without owning it."""
    if _is_being_swapped(storage_root):
        raise _pending(storage_root, read_owner(storage_root))


def _is_being_swapped(storage_root: Path) -> bool:
    return os.path.lexists(storage_root / SWAP_FILE)


def _pending(storage_root: Path, owner: Owner | None) -> StoreUnfinished:
    if owner is not None:
        by_whom = f"process {owner.pid}" if owner.pid else "another process"
        return StoreUnfinished(
            f"The store in {storage_root} is being replaced just now, by {by_whom}.",
            hint="Try again when that is done.",
            data={"pid": owner.pid},
        )
    # Only where a swap was interrupted.
    from mcp_agent_mail.store.engine.sqlite.swap import noted_reset

    journal = storage_root / SWAP_FILE
    if (reset := noted_reset(journal)) is not None:
        where = "It had saved nothing" if reset.saved is None else f"What it saved is in {reset.saved}"
        return StoreUnfinished(
            f"A reset of the store in {storage_root} was interrupted while it emptied the store. {where}.",
            hint="Whoever takes the store finishes it: `am reset`, or `am serve`."
            + ("" if reset.saved is None else f" The mail comes back by: am archive restore {reset.saved}"),
            data={"journal": str(journal), "saved": None if reset.saved is None else str(reset.saved)},
        )
    return StoreUnfinished(
        f"A restore or a rebuild of the store in {storage_root} was interrupted while it put the new store in place.",
        hint="Nothing is lost. Whoever takes the store finishes it: `am doctor repair --dry-run`, or `am serve`. "
        "Then try again.",
        data={"journal": str(journal)},
    )


def _address(url: str) -> tuple[str | None, int | None]:
    parts = urlsplit(url)
    return parts.hostname, parts.port
