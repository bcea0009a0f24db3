"""The three resources, and which project is meant where none is named."""

from __future__ import annotations

from pathlib import Path

from tests.facades.claims.claims_client import Caller, ClaimsServer, open_claims


async def write(claims: Caller, project: Path, subject: str, thread: str = "T-1") -> int:
    """To oneself, since both projects have a BlueLake alone."""
    sent = await claims.call(
        "send_message",
        project_key=str(project),
        from_agent="BlueLake",
        to=["BlueLake"],
        subject=subject,
        body_md=f"{subject}.",
        thread_id=thread,
    )
    number: int = sent["deliveries"][0]["payload"]["id"]
    return number


async def two(claims: Caller, tmp_path: Path) -> tuple[Path, Path]:
    projects = tmp_path / "one", tmp_path / "two"
    for project in projects:
        project.mkdir()
        await claims.create(project, "BlueLake")
    return projects


async def test_an_inbox_without_project_is_where_that_name_was_active_last(claims: Caller, tmp_path: Path) -> None:
    one, other = await two(claims, tmp_path)
    await write(claims, other, "Other")
    await write(claims, one, "One")

    first = await claims.read("resource://inbox/BlueLake?include_bodies=true")
    await claims.call("claim_paths", project_key=str(other), agent_name="BlueLake", paths=["a.py"])
    second = await claims.read("resource://inbox/bluelake")
    named = await claims.read(f"resource://inbox/BlueLake?project={one}&since_ts=0&urgent_only=false&limit=5")

    assert (first["project"], first["messages"][0]["body_md"]) == (str(one), "One.")
    assert second["project"] == str(other)
    assert [mail["subject"] for mail in named["messages"]] == ["One"]


async def test_a_thread_without_project_is_where_its_newest_mail_is(claims: Caller, tmp_path: Path) -> None:
    one, other = await two(claims, tmp_path)
    await write(claims, other, "Other")
    await write(claims, one, "One")
    first = await claims.read("resource://thread/T-1")
    await write(claims, other, "Again")

    second = await claims.read("resource://thread/T-1?include_bodies=true")
    named = await claims.read(f"resource://thread/T-1?project={one}")

    assert first["project"] == named["project"] == str(one)
    assert [mail["body_md"] for mail in second["messages"]] == ["Other.", "Again."]


async def test_a_message_is_found_by_its_id_alone(claims: Caller, tmp_path: Path) -> None:
    one, _ = await two(claims, tmp_path)
    number = await write(claims, one, "One")

    assert (await claims.read(f"resource://message/{number}"))["body_md"] == "One."


async def test_who_is_proven_reads_its_own_inbox_wherever_its_namesakes_are_active(tmp_path: Path) -> None:
    async with open_claims(tmp_path, AGENT_AUTH="strict") as server:
        tokens = {}
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            async with server.connected() as claims:
                made = await claims.create(tmp_path / name, "BlueLake")
            tokens[name] = made["registration_token"]
        async with server.connected(headers={"X-Agent-Token": tokens["two"]}) as active:
            await write(active, tmp_path / "two", "Two")
        async with server.connected(headers={"X-Agent-Token": tokens["one"]}) as mine:
            inbox = await mine.read("resource://inbox/BlueLake")
        async with server.connected() as nobody:
            refused = await nobody.unreadable("resource://inbox/BlueLake")

    assert inbox["project"] == str(tmp_path / "one")
    assert "token" in refused


async def test_elsewhere_a_name_of_two_projects_stays_ambiguous(server: ClaimsServer, tmp_path: Path) -> None:
    async with server.connected() as claims:
        one, other = await two(claims, tmp_path)
        await write(claims, one, "One")
        await write(claims, other, "Other")
    async with server.connected(query="") as native:
        inbox = await native.unreadable("resource://inbox/BlueLake")
        thread = await native.unreadable("resource://thread/T-1")

    assert "is an agent of 2 projects" in inbox
    assert "has mail in 2 projects" in thread


async def test_an_agent_that_nobody_created_has_no_inbox(claims: Caller) -> None:
    assert "No project has an agent 'GrayFox'" in await claims.unreadable("resource://inbox/GrayFox")


async def test_the_profile_lists_these_resources_and_what_mail_carries(claims: Caller) -> None:
    templates = await claims.session.list_resource_templates()
    resources = await claims.session.list_resources()

    assert sorted(one.name for one in templates.resource_templates) == ["attachment", "inbox", "message", "thread"]
    assert resources.resources == []
    assert "Unknown resource" in await claims.unreadable("resource://projects")
