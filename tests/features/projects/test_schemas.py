"""What callers get to see of a directory's identity."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.project_identity import IdentityMode, Marks, WorkspaceFacts, identify
from mcp_agent_mail.domain.projects import Alias, AliasKind, Project
from mcp_agent_mail.features.projects.results import FoundProject, KnownIdentity
from mcp_agent_mail.features.projects.schemas import show_archiving, show_ensured, show_identity
from mcp_agent_mail.features.projects.shapes import show_project
from tests.features.projects.harness import ensured, open_desk


async def test_a_directory_that_is_a_project_stays_one_and_is_told_what_it_could_be(code: Path, tmp_path: Path) -> None:
    async with open_desk(tmp_path, IdentityMode.DIR) as harness:
        own = await ensured(harness, tmp_path / "feature")
        joined = await ensured(harness, code, "git-common-dir")
        still = await ensured(harness, tmp_path / "feature", "git-common-dir")

    assert joined["id"] != own["id"] == still["id"]
    notices = still["notices"]
    assert isinstance(notices, list)
    assert f"am projects adopt {own['slug']} {joined['slug']}" in notices[0]


def project(number: int, slug: str, archived: Micros | None = None) -> Project:
    return Project(id=ProjectId(number), slug=slug, human_key=f"/{slug}", created_ts=Micros(0), archived_ts=archived)


def known(marks: Marks | None = None, rival: Project | None = None, aliases: tuple[Alias, ...] = ()) -> KnownIdentity:
    facts = WorkspaceFacts(path="/app", marks=marks or Marks())
    return KnownIdentity(
        project=project(1, "app"),
        facts=facts,
        identity=identify(facts, IdentityMode.GIT_REMOTE),
        uid="u" * 32,
        rival=rival,
        aliases=aliases,
    )


def test_a_directory_in_no_repository_says_so_and_has_neither_aliases_nor_notices() -> None:
    shown = show_identity(known())

    asked_of_git = ("repo_root", "git_common_dir", "branch", "worktree_name", "core_ignorecase", "normalized_remote")
    assert {shown[name] for name in asked_of_git} == {None}
    assert (shown["identity_mode_used"], shown["discovery"], shown["project_uid"]) == ("dir", None, "u" * 32)
    assert not {"aliases", "notices"} & set(shown)


def test_notices_are_those_of_the_marks_and_then_that_of_a_rival() -> None:
    marks = Marks(discovery={"project_name": "App"}, notices=("the marker is unfit",))

    shown = show_identity(known(marks, rival=project(2, "other"), aliases=(Alias(name="/b", kind=AliasKind.PATH),)))

    assert shown["discovery"] == {"project_name": "App"}
    assert shown["aliases"] == ["/b"]
    assert [told.split(",")[0] for told in shown["notices"]] == [
        "the marker is unfit",
        "By its identity this directory belongs to other",
    ]


def test_when_a_project_was_archived_is_told_only_where_it_is() -> None:
    live, archived = project(1, "app"), project(1, "app", Micros(1))

    assert "archived_at" not in show_project(live)
    assert show_project(archived)["archived_at"] == iso(Micros(1))
    assert [show_archiving(one)["archived_at"] for one in (live, archived)] == [None, iso(Micros(1))]


def test_an_ensured_project_tells_its_identity_only_where_one_was_asked_for() -> None:
    plain = show_ensured(FoundProject(project=project(1, "app")), Path("/store/app"))
    asked = show_ensured(FoundProject(project=project(1, "app"), identity=known()), Path("/store/app"))

    assert sorted(plain) == ["archive_path", "created_at", "human_key", "id", "slug"]
    assert asked == {**show_identity(known()), **plain}
