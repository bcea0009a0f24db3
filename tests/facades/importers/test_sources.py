"""Each word stands for one reader, and whoever names another store gets a refusal that says what is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.domain.importing.refusals import SourceUnreadable, UnknownLayout
from mcp_agent_mail.facades.importers.sources import open_source
from tests.facades.importers.mcp_store import make_mcp_store
from tests.facades.importers.small_sources import make_agentmail, make_claude_mailbox, make_postal

_MAKERS: dict[str, Callable[[Path], Path]] = {
    "postal": lambda folder: make_postal(folder / "messages.sqlite", messages=5),
    "agentmail": lambda folder: make_agentmail(folder / "repo", messages=5),
    "claude-mailbox": lambda folder: make_claude_mailbox(folder / "mailbox.db", messages=5),
    "mcp-agent-mail": lambda folder: make_mcp_store(folder / "older", messages=5).database,
}


@pytest.mark.parametrize("system", _MAKERS)
@pytest.mark.parametrize("other", _MAKERS)
def test_a_store_is_read_by_its_own_word_alone(system: str, other: str, tmp_path: Path) -> None:
    path = _MAKERS[other](tmp_path)

    if system == other:
        with open_source(system, path) as reader:
            assert reader.store().system == system
            assert list(reader.messages())
    else:
        with pytest.raises((UnknownLayout, SourceUnreadable)), open_source(system, path):
            pass


@pytest.mark.parametrize("system", _MAKERS)
def test_what_is_not_there_is_said(system: str, tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match=r"no such file|No such file"), open_source(system, tmp_path / "none"):
        pass
