"""Paths that would protect nothing: several in one text are refused, others are granted with a warning."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.concurrency.looks import DirectorySilent
from mcp_agent_mail.core.errors import IdempotencyKeyConflict
from mcp_agent_mail.domain.patterns.syntax import OutsideProject
from mcp_agent_mail.domain.reservations import JoinedPaths
from mcp_agent_mail.features.reservations import path_guidance
from mcp_agent_mail.features.reservations.offload import PatternReader
from mcp_agent_mail.workspace.facts import Workspaces
from tests.features.reservations.claims import Claims, open_claims
from tests.workspace.code_repository import begin, commit, write


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    """Over a repository with `src/lexer/words.py`, `README.md` and `*.log` ignored."""
    code = begin(tmp_path / "code")
    write(code, "src/lexer/words.py")
    write(code, "README.md")
    write(code, ".gitignore", content="*.log\ndist/\n")
    commit(code)
    async with open_claims(tmp_path) as opened:
        opened.root = str(code)
        await opened.open_project()
        yield opened


async def refused(claims: Claims, *paths: str) -> dict[str, Any]:
    with pytest.raises(JoinedPaths) as raised:
        await claims.reserve("BlueLake", *paths)
    assert await claims.listed() == []
    return raised.value.to_wire()


async def warned(claims: Claims, *paths: str, **arguments: Any) -> Any:
    answer = await claims.reserve("BlueLake", *paths, **arguments)
    assert len(answer["granted"]) == len(paths)
    return answer.get("warnings")


@pytest.mark.parametrize("text", ["src/a.py,src/b.py", "src/a.py, src/b.py", "src/a.py src/b.py", "src/a.py\nsrc/b.py"])
async def test_several_paths_in_one_text_are_refused_with_the_list_that_was_meant(claims: Claims, text: str) -> None:
    error = await refused(claims, text)

    assert error["type"] == "INVALID_INPUT"
    assert error["data"]["did_you_mean"] == ["src/a.py", "src/b.py"]
    assert 'Did you mean ["src/a.py", "src/b.py"]?' in error["hint"]


async def test_the_list_that_was_meant_is_that_of_the_whole_call_each_path_once(claims: Claims) -> None:
    error = await refused(claims, "README.md", "src/a.py,src/b.py", "src/b.py src/c.py")

    assert error["data"]["did_you_mean"] == ["README.md", "src/a.py", "src/b.py", "src/c.py"]
    assert error["data"]["paths"] == ["src/a.py,src/b.py", "src/b.py src/c.py"]


async def test_a_long_list_is_shown_in_part_and_given_whole(claims: Claims) -> None:
    error = await refused(claims, ",".join(f"src/{number}.py" for number in range(40)))

    assert len(error["data"]["did_you_mean"]) == 40
    assert "and 30 more" in error["hint"]


async def test_texts_behind_very_many_characters_are_taken_as_they_are_written(
    claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_guidance, "_MAX_DIVIDED", 40)
    granted = await claims.reserve("BlueLake", "src/" + "x" * 40, "src/a.py,src/b.py")

    assert len(granted["granted"]) == 2
    with pytest.raises(JoinedPaths):
        await claims.reserve("BlueLake", "src/a.py,src/b.py")


async def test_a_file_of_that_very_name_is_one_path(claims: Claims) -> None:
    write(Path(claims.root), "src/a.py,src/b.py")

    assert await warned(claims, "src/a.py,src/b.py") is None
    assert await warned(claims, f"{claims.root}/src/a.py,src/b.py") is None


async def test_a_new_file_of_such_a_name_can_be_reserved_as_the_hint_says(claims: Claims) -> None:
    assert "\\ before each comma or blank" in (await refused(claims, "src/a.py,src/b.py"))["hint"]

    assert await warned(claims, "src/a.py\\,src/b.py") is None
    assert (await claims.check("RedStone", "src/a.py\\,src/b.py"))["free"] == []


async def test_looking_ahead_refuses_them_too(claims: Claims) -> None:
    with pytest.raises(JoinedPaths):
        await claims.check("BlueLake", "src/a.py,src/b.py")


async def test_braces_are_granted_as_they_are_and_warned_of_with_what_a_shell_makes_of_them(claims: Claims) -> None:
    answer = await claims.reserve("BlueLake", "src/{a,b}.py", "README.md")

    assert [grant["path_pattern"] for grant in answer["granted"]] == ["src/{a,b}.py", "README.md"]
    assert answer["warnings"] == [
        {
            "path": "src/{a,b}.py",
            "reason": "braces are literal: it stands for the one file of that name",
            "did_you_mean": ["src/a.py", "src/b.py"],
        }
    ]


@pytest.mark.parametrize("path", ["src\\lexer\\words.py", "src\\*.py"])
async def test_backslashes_for_slashes_are_warned_of_with_what_was_meant(claims: Claims, path: str) -> None:
    assert await warned(claims, path) == [
        {
            "path": path,
            "reason": "a backslash divides no folders: it stands for no path below them",
            "did_you_mean": [path.replace("\\", "/")],
        }
    ]


async def test_a_backslash_that_makes_a_character_literal_is_not_warned_of(claims: Claims) -> None:
    write(Path(claims.root), "src/odd\\name.py")

    assert await warned(claims, "src/\\[id\\].py", "src/a\\ b.py", "src/odd\\name.py") is None


async def test_a_path_of_another_project_is_refused_by_the_name_of_that(claims: Claims, tmp_path: Path) -> None:
    for path in ("/code/lib/src/a.py", "/code/lib/../lib/*.py"):
        with pytest.raises(OutsideProject) as raised:
            await claims.reserve("BlueLake", path)
        assert raised.value.hint == "It lies in the project /code/lib, whose own agents can reserve it."
    with pytest.raises(OutsideProject) as looked:
        await claims.check("BlueLake", "/code/lib/a.py")
    with pytest.raises(OutsideProject) as nowhere:
        await claims.reserve("BlueLake", f"{tmp_path}/elsewhere/a.py")

    assert looked.value.data["project"] == "/code/lib"
    assert nowhere.value.hint.startswith("Write paths from the repository's root")


async def test_a_file_with_braces_in_its_name_is_not_warned_of(claims: Claims) -> None:
    write(Path(claims.root), "src/{a,b}.py")

    assert await warned(claims, "src/{a,b}.py", "src/{id}.py") is None


async def test_a_pattern_that_fits_no_file_is_warned_of_with_the_folder_that_was_meant(claims: Claims) -> None:
    assert await warned(claims, "src/lexr/*.py", "*.rs", "src/**", "*.py", "src/new.py", "tool://x") == [
        {"path": "src/lexr/*.py", "reason": "no file fits it", "did_you_mean": ["src/lexer/*.py"]},
        {"path": "*.rs", "reason": "no file fits it"},
    ]


async def test_what_git_ignores_is_warned_of(claims: Claims) -> None:
    (Path(claims.root) / "dist").mkdir()

    assert await warned(claims, "debug.log", "dist", "dist/**", "dist/app.js", "README.md") == [
        {"path": path, "reason": "Git ignores it: the commit guard never sees it"}
        for path in ("debug.log", "dist", "dist/**", "dist/app.js")
    ]


async def test_a_project_that_is_not_on_this_disk_is_not_warned_of_its_patterns(tmp_path: Path) -> None:
    async with open_claims(tmp_path) as claims:
        assert await warned(claims, "src/**", "*.log", "src/{a,b}.py") is None


async def test_a_repeat_gets_the_first_answer_with_its_warnings_whatever_lies_there_now(claims: Claims) -> None:
    odd = write(Path(claims.root), "src/a.py,src/b.py")
    paths = ["src/a.py,src/b.py", "*.rs"]
    first = await claims.reserve("BlueLake", *paths, idempotency_key="k")
    odd.unlink()
    write(Path(claims.root), "src/new.rs")

    again = await claims.reserve("BlueLake", *paths, idempotency_key="k")

    assert again["idempotent_replay"] is True
    assert again["warnings"] == first["warnings"] == [{"path": "*.rs", "reason": "no file fits it"}]
    with pytest.raises(IdempotencyKeyConflict):
        await claims.reserve("BlueLake", "src/a.py,src/b.py", idempotency_key="k")


class HangingSearch(Workspaces):
    """A folder below the project's hangs when it is searched."""

    def __init__(self, until: threading.Event) -> None:
        super().__init__()
        self._end = until

    def ignored(self, *_: object) -> set[str]:
        self._end.wait(30)
        return set()


async def test_a_folder_that_hangs_costs_the_warnings_and_neither_the_grant_nor_the_next_call(
    claims: Claims,
) -> None:
    may_end = threading.Event()
    spaces = HangingSearch(may_end)
    claims.service._reader = PatternReader(spaces, advice_within_s=0.2)
    try:
        assert await warned(claims, "*.rs") is None
        assert await warned(claims, "*.rb") is None
        assert spaces.looks.silent() == 1
        with pytest.raises(DirectorySilent):
            await spaces.looks.look(f"{claims.root}/**", list)
    finally:
        may_end.set()


async def test_plain_paths_that_no_line_may_mean_cost_one_look_and_no_search(claims: Claims) -> None:
    spaces = Workspaces()
    claims.service._reader = PatternReader(spaces)
    looked: list[str] = []
    look = spaces.looks.look

    async def counted(path: str, work: Any, **bounds: Any) -> Any:
        looked.append(path)
        return await look(path, work, **bounds)

    spaces.looks.look = counted  # type: ignore[method-assign]  # the same, and counted

    assert await warned(claims, "src/lexer/words.py", "src/new.py", "src", "tool://x") is None
    assert looked == [claims.root]
    assert len(await warned(claims, "src/{a,b}.py", "a.log")) == 2
    assert looked == [claims.root, claims.root, f"{claims.root}/**"]


async def test_many_paths_are_looked_at_apart_from_what_decides(claims: Claims) -> None:
    paths = [f"src/{number}.py" for number in range(30)]

    assert await warned(claims, *paths, "a.log") == [
        {"path": "a.log", "reason": "Git ignores it: the commit guard never sees it"}
    ]
