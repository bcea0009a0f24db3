"""Every file that archives hold, rendered from the database: byte for byte what the archiver writes."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.archive_format.attachments import Content
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.artifact_files import ArtifactFiles
from mcp_agent_mail.store.checks.artifacts import open_artifacts
from tests.archive_harness import ArchiveHarness, fill, git
from tests.features.archiving.leases import Held

Rendered = dict[ProjectId, dict[str, Content | None]]


def rendered(harness: ArchiveHarness, only: Project | None = None) -> tuple[Rendered, list[tuple[int, int]]]:
    """By project and path; and how far it was told to be."""
    files: Rendered = defaultdict(dict)
    told: list[tuple[int, int]] = []

    def put(project_id: ProjectId, path: str, content: Content | None) -> None:
        assert path not in files[project_id], path
        files[project_id][path] = content

    with open_artifacts(harness.database) as artifacts:
        wanted = None if only is None else only.id
        ArtifactFiles(
            artifacts,
            put,
            lambda done, total: told.append((done, total)),
            version_of=lambda _: FORMAT_VERSION,
            only=wanted,
        ).run()
    return dict(files), told


def held_by_git(harness: ArchiveHarness, project: Project) -> dict[str, bytes]:
    names = git(harness.path(project), "ls-tree", "-r", "--name-only", "main").splitlines()
    return {name: git(harness.path(project), "show", f"main:{name}").encode() for name in names}


def furnish(harness: ArchiveHarness) -> Held:
    """A project with everything but contacts and products in its archive."""
    held = Held(harness)
    red, green = (harness.add_agent(held.project, name) for name in ("RedStone", "GreenField"))
    message = harness.send(held.agent, [red], bcc=[green])
    harness.read(held.project, red, message)
    harness.read(held.project, green, message)
    held.end(held.hold("a"))
    held.hold("b")
    held.hold("slot", LeaseKind.SLOT)
    return held


def test_what_is_rendered_is_what_git_holds(harness: ArchiveHarness) -> None:
    held = furnish(harness)
    harness.archive()

    files, told = rendered(harness)

    assert files == {held.project.id: held_by_git(harness, held.project)}
    assert told == [(1, 1)]


def test_one_project_alone_is_rendered_where_it_is_asked_for(harness: ArchiveHarness) -> None:
    app, lib = fill(harness, Path("/code/app")), fill(harness, Path("/code/lib"))
    agents = harness.tx.agents
    blue, red = agents.find_by_name(app.id, "BlueLake"), agents.find_by_name(lib.id, "RedStone")
    assert blue is not None
    assert red is not None
    harness.send(blue, [red], subject="Across")
    harness.archive()

    files, _ = rendered(harness, only=lib)

    assert files == {lib.id: held_by_git(harness, lib)}


def test_what_git_has_yet_to_learn_of_has_no_content_it_must_have(harness: ArchiveHarness) -> None:
    held = furnish(harness)
    harness.archive()
    settled, _ = rendered(harness)
    lease = held.hold("c")
    harness.describe(held.project, held.agent, "Changed")
    harness.add_project("/code/new")
    harness.send(held.agent, [held.agent], subject="Later")

    files, _ = rendered(harness)

    new = {path: content for path, content in files[held.project.id].items() if path not in settled[held.project.id]}
    assert set(new.values()) == {None}
    assert f"file_reservations/id-{lease.id}.json" in new
    assert files[held.project.id]["agents/BlueLake/profile.json"] is None
    assert files[ProjectId(2)]["archive.json"] is None


def test_a_lease_on_its_way_may_lie_in_both_places(harness: ArchiveHarness) -> None:
    held = Held(harness)
    lease = held.hold()
    harness.archive()
    held.end(lease)

    files, _ = rendered(harness)

    leases = {path: content for path, content in files[held.project.id].items() if path.startswith("file_reser")}
    assert leases == {
        "file_reservations/id-1.json": None,
        "file_reservations/released/2027/01/0-499/id-1.json": None,
    }


def test_how_far_it_is_is_told_every_two_hundred_messages(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/code/app"))
    blue = harness.tx.agents.find_by_name(project.id, "BlueLake")
    assert blue is not None
    with harness.together():
        for _ in range(200):
            harness.send(blue, [blue])

    _, told = rendered(harness)

    assert told == [(200, 201), (201, 201)]
