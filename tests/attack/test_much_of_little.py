"""Who can write a few bytes into a repository, of which a reader makes many: long names for each of many lines, chains
of links, indexes whose every entry repeats the one before.
"""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.git.config import MAX_LENGTH, MAX_STATEMENTS, MAX_WANTED
from mcp_agent_mail.core.git.foreign_repository import UnfitRepository, find_repository
from mcp_agent_mail.core.git.process import FOREIGN_BYTES, GitFailed
from mcp_agent_mail.core.git.shadow_repository import MAX_FILE_BYTES, shadow_of
from mcp_agent_mail.core.plain_files import UnfitFile
from mcp_agent_mail.features.projects.lookup import resolved_path
from mcp_agent_mail.workspace.boundary import ProjectBoundary
from mcp_agent_mail.workspace.identity import WorkspaceIdentities
from mcp_agent_mail.workspace.repository import open_work_tree
from tests.workspace.code_repository import begin

MEMORY = 16 * 1024 * 1024
"""The file itself and its text are a tenth of it."""
LINKS = 2_000


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return begin(tmp_path / "code")


@pytest.fixture
def peak() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def configure(code: Path, text: str) -> None:
    with (code / ".git" / "config").open("a") as config:
        config.write(text)


@pytest.mark.usefixtures("peak")
def test_a_long_name_is_not_made_for_each_of_its_lines(code: Path) -> None:
    configure(code, f'[remote "{"a" * 100_000}"]\n' + "url=x\n" * 8_000)

    WorkspaceIdentities().facts(str(code))

    assert tracemalloc.get_traced_memory()[1] < MEMORY
    with pytest.raises(UnfitRepository, match="more than 4,096 characters") as refused:
        find_repository(str(code))
    assert f"{code}/.git/config: " in refused.value.message
    assert "Take out of it" in refused.value.hint


@pytest.mark.usefixtures("peak")
def test_as_much_as_is_read_stays_small(code: Path) -> None:
    lines = MAX_WANTED - 100
    configure(
        code,
        f'[remote "{"a" * (MAX_LENGTH - 100)}"]\n' + "url=x\n" * lines + "fetch=x\n" * (MAX_STATEMENTS - lines - 100),
    )

    found = find_repository(str(code))

    assert found is not None
    assert len([name for name, _ in found.own if name.startswith("remote.")]) == lines
    assert tracemalloc.get_traced_memory()[1] < MEMORY


def test_a_refusal_does_not_repeat_all_that_it_refuses(code: Path) -> None:
    configure(code, "[extensions]\n" + "".join(f"x{number} = {'v' * 1_000}\n" for number in range(500)))

    with pytest.raises(UnfitRepository, match="of a kind that is not read") as refused:
        find_repository(str(code))

    assert len(refused.value.message) < 1_000


def test_a_number_is_one_that_git_would_read(code: Path) -> None:
    configure(code, "[core]\nbare = \u00b2\n")

    assert find_repository(str(code)) is not None


def chain_of_links(folder: Path) -> Path:
    """Each leads to the next, the last to a folder."""
    folder.mkdir()
    (folder / f"l{LINKS}").mkdir()
    for number in range(LINKS):
        (folder / f"l{number}").symlink_to(f"l{number + 1}")
    return folder / "l0"


def test_a_chain_of_links_is_no_git_directory(tmp_path: Path) -> None:
    first = chain_of_links(tmp_path / "chain")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".git").write_text(f"gitdir: {first}\n")

    with pytest.raises(UnfitRepository, match="more links than are followed"):
        find_repository(str(tmp_path / "work"))


def test_a_chain_of_links_is_no_work_tree(tmp_path: Path, code: Path) -> None:
    configure(code, f"[core]\nworktree = {chain_of_links(tmp_path / 'chain')}\n")

    with pytest.raises(UnfitRepository, match="more links than are followed"):
        find_repository(str(code))


def test_a_chain_of_links_is_no_project_and_nothing_in_one(tmp_path: Path) -> None:
    first = chain_of_links(tmp_path / "chain")

    with pytest.raises(UnfitFile, match="more links than are followed"):
        resolved_path(str(first))
    assert ProjectBoundary(tmp_path / "chain").look("l0/file") is None


@pytest.mark.parametrize("name", ["index", "packed-refs", "sharedindex.0"])
def test_a_huge_file_is_not_given_to_git(code: Path, name: str) -> None:
    found = find_repository(str(code))
    assert found is not None
    with (code / ".git" / name).open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)

    with pytest.raises(UnfitRepository, match="more than the 134,217,728 bytes"), shadow_of(found):
        pass


def growing_index(entries: int, base: int) -> bytes:
    """Of version 4: every name is the one before and a letter more."""
    parts = [b"DIRC", struct.pack(">II", 4, entries)]
    for number in range(entries):
        added = b"a" * base if number == 0 else b"a"
        header = struct.pack(">10I20sH", *([0] * 6), 0o100644, 0, 0, 0, b"\1" * 20, 0xFFF)
        parts.append(header + b"\0" + added + b"\0")
    return b"".join(parts) + bytes(20)


def test_git_takes_bounded_memory_for_a_strangers_index(code: Path) -> None:
    base = 8 * 1024 * 1024
    (code / ".git" / "index").write_bytes(growing_index(2 * FOREIGN_BYTES // base, base))

    with open_work_tree(code) as tree:
        assert tree is not None
        with pytest.raises(GitFailed, match=r"[Oo]ut of memory"), tree.listed_files(["none"], timeout_s=60.0) as files:
            list(files)
