from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_agent_mail.archive.transfer.description import UnreadableArchiveFile, describe
from tests.archive.one_archive import add_commit, begin

_PROJECT = {"slug": "app", "human_key": "/code/app"}
_SAID = {"format": 2, "store_id": "s", "project": _PROJECT}
_MAIL = "messages/2026/11/0-499/2026-11-21T21-00-00Z__plan__{}.md"


def test_an_archive_says_whose_it_is_and_how_many_messages_it_has(path: Path) -> None:
    repository = begin(path)
    mail = {_MAIL.format(number): b"mail" for number in (1, 2)}
    others = {"messages/threads/t.md": b"page", "agents/Blue/outbox/2026/11/0-499/x.md": b"mail"}
    commit = add_commit(repository, {"archive.json": json.dumps(_SAID).encode(), **mail, **others})

    said = describe(repository, commit)

    assert (said.store_id, said.slug, said.human_key, said.version, said.messages) == ("s", "app", "/code/app", 2, 2)


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b'{"store_id": "s"}', json.dumps(_SAID | {"store_id": 1}).encode(), b" " * (2 << 20)],
)
def test_what_is_no_archive_is_refused(path: Path, content: bytes) -> None:
    repository = begin(path)
    commit = add_commit(repository, {"archive.json": content})

    with pytest.raises(UnreadableArchiveFile):
        describe(repository, commit)


def test_a_commit_without_its_file_is_refused(path: Path) -> None:
    repository = begin(path)
    commit = add_commit(repository, {"mine.txt": b"mine"})

    with pytest.raises(UnreadableArchiveFile):
        describe(repository, commit)
