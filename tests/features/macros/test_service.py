from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind
from mcp_agent_mail.domain.project_identity import MARKER_FILE
from mcp_agent_mail.features.messaging.read import InboxListing
from mcp_agent_mail.features.messaging.requests import InboxRequest
from mcp_agent_mail.features.reservations.grant import GrantRequest
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from tests.features.macros.harness import APP, LIB, MacrosHarness, open_macros, refused
from tests.workspace.code_repository import begin, write

PROFILE = {"human_key": APP, "program": "tests", "model": "none"}
OPERATOR = Credentials(via="local", bearer_token="unused")


async def test_one_call_makes_the_project_the_agent_and_its_reservations(team: MacrosHarness) -> None:
    started = await team.start("BlueLake", file_reservation_paths=["src/**"], task_description="The lexer")

    (grant,) = started["file_reservations"]["granted"]
    assert started["project"]["human_key"] == APP
    assert (started["agent"]["name"], started["agent"]["task_description"]) == ("BlueLake", "The lexer")
    assert started["agent"]["registration_token"].startswith("amt_")
    assert (grant["path_pattern"], grant["exclusive"], grant["reason"]) == ("src/**", True, "macro-session")
    assert (started["inbox"], started["peers"]) == ([], [])


async def test_who_comes_back_finds_its_mail_and_its_peers(team: MacrosHarness) -> None:
    first = await team.start("BlueLake", task_description="The lexer")
    await team.start("RedStone")
    await team.send("RedStone", "BlueLake", subject="Hello")

    again = await team.start("bluelake")

    assert again["agent"]["id"] == first["agent"]["id"]
    assert again["agent"]["task_description"] == "The lexer"
    assert "registration_token" not in again["agent"]
    assert [item["subject"] for item in again["inbox"]] == ["Hello"]
    assert "body_md" not in again["inbox"][0]
    assert [peer["name"] for peer in again["peers"]] == ["RedStone"]


async def test_a_session_without_a_name_gets_one(team: MacrosHarness) -> None:
    one = await team.start()
    other = await team.start()

    assert one["agent"]["name"] != other["agent"]["name"]
    assert [peer["name"] for peer in other["peers"]] == [one["agent"]["name"]]


async def test_who_shows_its_token_and_no_name_comes_back_as_itself(team: MacrosHarness) -> None:
    await team.start("BlueLake")

    again = await team.call("macro_start_session", **PROFILE, registration_token=team.tokens[APP, "BlueLake"])
    elsewhere = await team.call("macro_start_session", team.proof("BlueLake"), **{**PROFILE, "human_key": LIB})

    assert again["agent"]["name"] == "BlueLake"
    assert elsewhere["agent"]["name"] != "BlueLake"


async def test_what_others_hold_comes_back_as_a_conflict_and_the_session_begins_all_the_same(
    team: MacrosHarness,
) -> None:
    await team.start("BlueLake", file_reservation_paths=["src/**"])

    started = await team.start("RedStone", file_reservation_paths=["src/app.py", "docs/a.md"])

    (conflict,) = started["file_reservations"]["conflicts"]
    assert conflict["path"] == "src/app.py"
    assert [holder["agent"] for holder in conflict["holders"]] == ["BlueLake"]
    assert [grant["path_pattern"] for grant in started["file_reservations"]["granted"]] == ["docs/a.md"]


async def test_a_session_that_fails_leaves_nothing_behind(team: MacrosHarness) -> None:
    before = team.everything()

    error = await refused(team.start("Human", file_reservation_paths=["src/**"]))
    outside = await refused(team.start("BlueLake", file_reservation_paths=["/elsewhere/x.py"]))

    assert (error.code, outside.code) == ("INVALID_INPUT", "INVALID_INPUT")
    assert team.everything() == before


async def test_a_reservation_too_many_takes_the_new_profile_back_with_it(team: MacrosHarness) -> None:
    for folder in ("src", "lib"):
        await team.start("BlueLake", file_reservation_paths=[f"{folder}/{number}.py" for number in range(500)])
    full = team.everything()

    error = await refused(
        team.start("BlueLake", file_reservation_paths=["one/more.py"], task_description="Something else")
    )

    assert error.code == "QUOTA_EXCEEDED"
    assert team.everything() == full


async def test_an_archived_project_begins_no_session(team: MacrosHarness) -> None:
    await team.start("BlueLake")
    await team.call("archive_project", project_key=APP)
    before = team.everything()

    error = await refused(team.start("RedStone", file_reservation_paths=["src/**"]))

    assert error.code == "CONFLICT"
    assert team.everything() == before


async def test_a_large_claim_in_a_new_project_is_compared_before_the_unit_of_work(team: MacrosHarness) -> None:
    started = await team.start("BlueLake", file_reservation_paths=[f"src/{number}.py" for number in range(120)])

    assert len(started["file_reservations"]["granted"]) == 120


async def test_a_large_claim_sees_what_others_hold_and_not_ones_own(team: MacrosHarness) -> None:
    mine = [f"src/{number}.py" for number in range(120)]
    await team.start("BlueLake", file_reservation_paths=mine)

    again = await team.start("BlueLake", file_reservation_paths=mine)
    other = await team.start("RedStone", file_reservation_paths=[*mine[:70], "free.py"])

    assert len(again["file_reservations"]["granted"]) == 120
    assert len(other["file_reservations"]["conflicts"]) == 70
    assert [grant["path_pattern"] for grant in other["file_reservations"]["granted"]] == ["free.py"]


async def test_eight_that_begin_at_once_want_the_same_file_and_one_gets_it(team: MacrosHarness) -> None:
    names = [f"Agent{number}" for number in range(8)]

    started = await asyncio.gather(*(team.start(name, file_reservation_paths=["src/app.py"]) for name in names))

    assert sum(len(one["file_reservations"]["granted"]) for one in started) == 1
    assert len({one["project"]["id"] for one in started}) == 1


async def test_nobody_overtakes_who_waits_in_line_by_beginning_a_session(team: MacrosHarness) -> None:
    await team.start("BlueLake", file_reservation_paths=["src/app.py"])
    await team.start("RedStone")
    waiting = asyncio.ensure_future(
        team.call("file_reservation_paths", project_key=APP, agent_name="RedStone", paths=["src/**"], wait_seconds=30)
    )
    while not team.waiting():
        await team.store.write(lambda tx: tx.now)

    late = await team.start("GreenField", file_reservation_paths=["src/new.py"])
    await team.call("release_file_reservations", project_key=APP, agent_name="BlueLake")

    assert [one["path"] for one in late["file_reservations"]["conflicts"]] == ["src/new.py"]
    assert [one["path_pattern"] for one in (await waiting)["granted"]] == ["src/**"]


async def test_the_inbox_may_be_left_out(team: MacrosHarness) -> None:
    await team.start("BlueLake")
    await team.start("RedStone")
    await team.send("RedStone", "BlueLake")

    assert (await team.start("BlueLake", inbox_limit=0))["inbox"] == []


async def test_at_most_twenty_peers_are_shown(team: MacrosHarness) -> None:
    for number in range(23):
        await team.start(f"Agent{number}")

    started = await team.start("BlueLake")

    assert [peer["name"] for peer in started["peers"]] == [f"Agent{number}" for number in range(22, 2, -1)]


async def test_coming_back_keeps_what_one_has_said_about_attachments(team: MacrosHarness) -> None:
    await team.start("BlueLake")
    of_blue = {"project_key": APP, "program": "tests", "model": "none", "name": "BlueLake"}
    await team.call("register_agent", **of_blue, attachments_policy="file")

    assert (await team.start("BlueLake"))["agent"]["attachments_policy"] == "file"


async def test_strict_a_name_that_is_taken_needs_its_token(strict_team: MacrosHarness) -> None:
    started = await strict_team.start("BlueLake", file_reservation_paths=["src/**"])
    before = strict_team.everything()

    error = await refused(strict_team.start("BlueLake", file_reservation_paths=["docs/**"]))
    after = strict_team.everything()
    again = await strict_team.call(
        "macro_start_session", **PROFILE, agent_name="BlueLake", registration_token=strict_team.tokens[APP, "BlueLake"]
    )

    assert started["inbox"] == []
    assert error.code == "AUTHENTICATION_REQUIRED"
    assert after == before
    assert again["agent"]["id"] == started["agent"]["id"]


async def test_a_wrong_token_is_denied_and_leaves_nothing(team: MacrosHarness) -> None:
    before = team.everything()

    error = await refused(team.call("macro_start_session", Credentials(via="mcp", agent_token="amt_wrong"), **PROFILE))

    assert error.code == "PERMISSION_DENIED"
    assert team.everything() == before


async def test_a_work_tree_of_a_known_project_reads_paths_from_that_projects_root(tmp_path: Path) -> None:
    main = tmp_path / "main"
    (main / "src").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(main)
    async with open_macros(tmp_path) as team:
        await team.start("BlueLake", str(main))

        started = await team.start("RedStone", str(link), file_reservation_paths=[str(main / "src")])

    assert started["project"]["human_key"] == str(main)
    assert [grant["path_pattern"] for grant in started["file_reservations"]["granted"]] == ["src"]


async def live(team: MacrosHarness, name: str) -> list[str]:
    """The patterns that an agent holds."""
    leases = await team.services.resources.read(
        f"resource://file_reservations/{APP.replace('/', '%2F')}", team.proof(name)
    )
    return sorted(lease["path_pattern"] for lease in leases if lease["agent"] == name)


async def test_a_cycle_reserves_like_the_tool_of_its_own(team: MacrosHarness) -> None:
    await team.start("BlueLake")

    cycled = await team.cycle("BlueLake", "src/**", "docs/a.md", exclusive=False, ttl_seconds=120)

    assert [grant["path_pattern"] for grant in cycled["file_reservations"]["granted"]] == ["src/**", "docs/a.md"]
    assert [grant["reason"] for grant in cycled["file_reservations"]["granted"]] == ["macro-file_reservation"] * 2
    assert cycled["released"] is None
    assert await live(team, "BlueLake") == ["docs/a.md", "src/**"]


async def test_auto_release_gives_back_all_that_the_call_got(team: MacrosHarness) -> None:
    await team.start("BlueLake")

    cycled = await team.cycle("BlueLake", "src/**", "docs/a.md", auto_release=True)

    assert len(cycled["file_reservations"]["granted"]) == 2
    assert cycled["released"]["released"] == 2
    assert cycled["released"]["released_at"] is not None
    assert await live(team, "BlueLake") == []


async def test_auto_release_keeps_what_was_held_before(team: MacrosHarness) -> None:
    await team.start("BlueLake", file_reservation_paths=["src/**"])

    cycled = await team.cycle("BlueLake", "src/**", "docs/a.md", auto_release=True)

    assert [grant["path_pattern"] for grant in cycled["file_reservations"]["granted"]] == ["src/**", "docs/a.md"]
    assert cycled["released"]["released"] == 1
    assert await live(team, "BlueLake") == ["src/**"]


async def test_auto_release_of_nothing_says_so(team: MacrosHarness) -> None:
    await team.start("BlueLake", file_reservation_paths=["src/**"])
    await team.start("RedStone")

    cycled = await team.cycle("RedStone", "src/app.py", auto_release=True)

    assert [one["path"] for one in cycled["file_reservations"]["conflicts"]] == ["src/app.py"]
    assert cycled["released"] == {"released": 0, "released_at": None}


async def test_a_large_cycle_with_auto_release_leaves_nothing(team: MacrosHarness) -> None:
    await team.start("BlueLake")

    cycled = await team.cycle("BlueLake", *(f"src/{number}.py" for number in range(120)), auto_release=True)

    assert cycled["released"]["released"] == 120
    assert await live(team, "BlueLake") == []


async def test_a_cycle_needs_the_agents_token_where_that_is_asked_for(strict_team: MacrosHarness) -> None:
    await strict_team.start("BlueLake")
    before = strict_team.everything()

    error = await refused(strict_team.cycle("BlueLake", "src/**", auto_release=True))

    assert error.code == "AUTHENTICATION_REQUIRED"
    assert strict_team.everything() == before


async def test_a_directory_that_is_known_as_anothers_by_the_time_it_is_written_has_its_paths_read_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = begin(tmp_path / "first"), begin(tmp_path / "second")
    for clone in (first, second):
        write(clone, MARKER_FILE, content="one-project-0001\n")
    write(first, "src/app.py")
    write(second, "src")
    async with open_macros(tmp_path) as team:
        reservations = team.services.leases.reservations
        prepare = reservations.prepare

        async def begin_elsewhere_first(root: str, request: ReserveRequest) -> GrantRequest:
            monkeypatch.undo()
            await team.start("RedStone", str(first))
            return await prepare(root, request)

        monkeypatch.setattr(reservations, "prepare", begin_elsewhere_first)
        started = await team.start("BlueLake", str(second), file_reservation_paths=["src"])
        inside = await team.start("RedStone", str(first), file_reservation_paths=["*/app.py"])

    assert started["project"]["human_key"] == str(first)
    assert [one["path"] for one in inside["file_reservations"]["conflicts"]] == ["*/app.py"]


async def test_a_session_that_reserves_nothing_has_no_directory_looked_at_for_reservations(
    team: MacrosHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    reservations = team.services.leases.reservations
    prepare = reservations.prepare
    looked_at: list[tuple[str, tuple[str, ...]]] = []

    async def noted(root: str, request: ReserveRequest) -> GrantRequest:
        looked_at.append((root, request.paths))
        return await prepare(root, request)

    monkeypatch.setattr(reservations, "prepare", noted)
    await team.start("BlueLake")
    await team.start("RedStone", file_reservation_paths=["src"])

    assert looked_at == [(APP, ("src",))]


async def test_strict_a_join_code_lets_a_newcomer_read_the_thread_it_joins_and_nobody_comes_without_one(
    tmp_path: Path,
) -> None:
    newcomer = {"project_key": APP, "thread_id": "plan-1", "program": "tests", "model": "none"}
    async with open_macros(tmp_path, AGENT_AUTH="strict", PROJECT_ADMISSION="member") as team:
        await team.start("BlueLake")
        invited = await team.call("create_join_code", OPERATOR, project_key=APP)

        without = await refused(team.call("macro_prepare_thread", **newcomer, agent_name="RedStone"))
        joined = await team.call("macro_prepare_thread", **newcomer, registration_token=invited["join_code"])

    assert without.code == "PERMISSION_DENIED"
    assert "PROJECT_ADMISSION=member" in without.message
    assert (joined["thread"]["thread_id"], joined["thread"]["total_messages"]) == ("plan-1", 0)
    assert joined["agent"]["registration_token"].startswith("amt_")


async def test_who_must_be_there_to_join_is_left_as_it_is(team: MacrosHarness) -> None:
    await team.start("BlueLake")
    before = team.everything()

    joined = await team.join("BlueLake", register_if_missing=False, program="another")

    assert (joined["agent"]["name"], joined["agent"]["program"]) == ("BlueLake", "tests")
    assert team.everything() == before


async def test_a_welcome_too_long_to_be_mail_shakes_no_hands(tmp_path: Path) -> None:
    async with open_macros(tmp_path, MESSAGE_BODY_MAX_BYTES="1024") as team:
        await team.start("BlueLake")
        await team.start("RedStone")
        before = team.everything()

        error = await refused(team.shake(welcome_body="x" * 1_025))
        after = team.everything()
        fits = await team.shake(welcome_body="x" * 1_024)

    assert (error.code, "1024" in error.message) == ("INVALID_INPUT", True)
    assert after == before
    assert fits["welcome_message"] is not None


async def test_what_the_operator_does_in_an_agents_name_is_no_activity_of_that_agent(team: MacrosHarness) -> None:
    who = {"project_key": APP, "agent_name": "BlueLake"}
    await team.start("BlueLake")
    begun = await team.call("whois", **who)

    await team.call("macro_file_reservation_cycle", OPERATOR, **who, paths=["src"])
    after_the_operator = await team.call("whois", **who)
    await team.cycle("BlueLake", "src")
    after_its_own = await team.call("whois", **who)

    assert after_the_operator["last_active_ts"] == begun["last_active_ts"] < after_its_own["last_active_ts"]


async def test_an_inbox_is_looked_into_by_who_is_shown(team: MacrosHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    messaging = team.services.messaging
    inbox = messaging.inbox
    read: list[tuple[CallerKind, int]] = []

    async def noted(caller: Caller, request: InboxRequest) -> InboxListing:
        read.append((caller.kind, request.limit))
        return await inbox(caller, request)

    monkeypatch.setattr(messaging, "inbox", noted)
    await team.start("BlueLake", inbox_limit=0)
    await team.start("BlueLake", inbox_limit=3)

    assert read == [(CallerKind.AGENT, 0), (CallerKind.ANONYMOUS, 3)]
