"""What a token that is for certain agents may ask at doors: each use case, elsewhere and as another mailbox."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.tools import Credentials, call_as
from mcp_agent_mail.domain.agents import AgentStatus
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.caller import WrongToken
from mcp_agent_mail.features.doors.mailbox_service import MailboxService
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.service import DoorService
from mcp_agent_mail.features.doors.window_service import WindowMailboxService, WindowSweepCounts, WindowSweepRequest
from tests.features.doors.harness import HOME, DoorsHarness, at, open_doors

SWEEP = WindowSweepRequest(windows=[], stale_hours=0, read_hours=0, counted_to=Micros(0), dry_run=False)
ELSEWHERE = "no agent of this project"
ANOTHERS = "another agent's"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The three services, and as whom they are asked at the one door that each is for."""

    doors: DoorService
    mailboxes: MailboxService
    windows: WindowMailboxService
    project: str | None = None

    def box(self, name: str) -> DoorCaller:
        return at(name, Door.CLAUDE_MAILBOX, self.project)

    def window(self, name: str) -> DoorCaller:
        return at(name, Door.AGENTMAIL, self.project)


Question = Callable[[Asked, str], Awaitable[Any]]
SPEAKING: dict[str, Question] = {
    "DoorService.send": lambda to, name: to.doors.send(to.window(name), "red", "hi"),
    "DoorService.pop": lambda to, name: to.doors.pop(to.window(name), wait_s=0),
    "MailboxService.touch": lambda to, name: to.mailboxes.touch(to.box(f"{name}-box")),
    "MailboxService.check": lambda to, name: to.mailboxes.check(to.box(f"{name}-box")),
    "MailboxService.watch": lambda to, name: to.mailboxes.watch(to.box(f"{name}-box"), wait_s=0),
    "MailboxService.rename": lambda to, name: to.mailboxes.rename(to.box(f"{name}-box"), "another"),
    "MailboxService.retire": lambda to, name: to.mailboxes.retire(to.box(f"{name}-box")),
    "WindowMailboxService.rename": lambda to, name: to.windows.rename(to.window("another"), name),
    "WindowMailboxService.set_status": lambda to, name: to.windows.set_status(to.window(name), AgentStatus.BUSY),
}
"""Asked as somebody, who is changed or seen by that."""
LOOKING: dict[str, Question] = {
    "DoorService.pending": lambda to, name: to.doors.pending(to.box(f"{name}-box")),
    "MailboxService.find_renamed": lambda to, name: to.mailboxes.find_renamed(to.box(f"{name}-box")),
    "MailboxService.list_": lambda to, _: to.mailboxes.list_(Door.CLAUDE_MAILBOX, None),
    "WindowMailboxService.names": lambda to, name: to.windows.names(to.window(name)),
    "WindowMailboxService.watch": lambda to, name: to.windows.watch(to.window(name), [name], seen=None, wait_s=0),
}
"""Asked of a project, by whomever."""
SWEEPING: dict[str, Question] = {
    "WindowMailboxService.clean_up": lambda to, name: to.windows.clean_up(to.window(name), SWEEP)
}
BY_NOBODY = {
    "DoorService.settle",
    "DoorService.give_back",
    "DoorService.settle_claimed",
    "DoorService.give_back_claimed",
    "DoorService.give_back_open",
    "DoorService.names",
    "DoorService.link",
    "DoorService.unlink",
    "MailboxService.retire_idle",
}
"""By what was given with the mail, by the operator, or by the server itself."""


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[DoorsHarness]:
    """`red` and `green` are drained mailboxes of AgentMail's, `red-box` and `green-box` of ClaudeMailbox's."""
    async with open_doors(tmp_path) as opened:
        for name in ("red", "green"):
            await opened.speak(name, Door.AGENTMAIL)
            await opened.speak(f"{name}-box", Door.CLAUDE_MAILBOX)
        opened.noted.clear()
        yield opened


def asked(harness: DoorsHarness, project: str | None = None) -> Asked:
    store, doors, waiters = harness.seeded.store, harness.doors, harness.waiters
    windows = WindowMailboxService(store, doors, waiters, note_activity=lambda agent: harness.noted.append(agent.name))
    return Asked(doors=doors, mailboxes=harness.mailboxes, windows=windows, project=project)


async def id_of(harness: DoorsHarness, name: str) -> AgentId:
    return AgentId((await harness.rows(f"SELECT agent_id FROM wire_names WHERE name = '{name}'"))[0][0])


async def outcome(credentials: Credentials, question: Question, to: Asked, name: str) -> str:
    async def work() -> Any:
        return await question(to, name)

    try:
        await call_as(credentials, work, {})
    except WrongToken as refused:
        return next(why for why in (ELSEWHERE, ANOTHERS) if why in refused.message)
    return "ok"


async def everything(harness: DoorsHarness) -> list[Any]:
    agents = await harness.rows("SELECT id, name, status, retired_ts FROM agents ORDER BY id")
    return [*agents, *await harness.rows("SELECT name FROM wire_names ORDER BY id"), list(harness.noted)]


def test_no_use_case_of_doors_is_left_out() -> None:
    services = (DoorService, MailboxService, WindowMailboxService)
    public = {
        f"{service.__name__}.{name}"
        for service in services
        for name, one in inspect.getmembers(service, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }

    assert public == {*SPEAKING, *LOOKING, *SWEEPING, *BY_NOBODY}


async def strangers(harness: DoorsHarness) -> dict[str, Credentials]:
    """Tokens for agents of another project, or of none."""
    return {
        "issued": Credentials(via="mcp", issued_to=harness.seeded.red.id),
        "issued to one that is gone": Credentials(via="mcp", issued_to=AgentId(9_999)),
        "a JWT": Credentials(via="mcp", claimed_agents=("RedStone@/code/app", "red@/code/nowhere")),
        "a JWT with a bare name": Credentials(via="mcp", claimed_agents=("RedStone",)),
        "a JWT of nobody": Credentials(via="mcp", claimed_agents=("(nobody)",)),
    }


@pytest.mark.parametrize("question", [*SPEAKING, *LOOKING, *SWEEPING])
@pytest.mark.parametrize("project", [None, "never"])
async def test_nothing_is_asked_of_another_project_nor_of_one_that_there_is_not(
    question: str, project: str | None, harness: DoorsHarness, tmp_path: Path
) -> None:
    (tmp_path / "never").mkdir()
    of = None if project is None else str(tmp_path / project)
    before, projects = await everything(harness), await harness.rows("SELECT count(*) FROM projects")
    asks = {**SPEAKING, **LOOKING, **SWEEPING}[question]

    tried = (await strangers(harness)).items()
    found = {who: await outcome(token, asks, asked(harness, of), "red") for who, token in tried}

    assert found == dict.fromkeys(found, ELSEWHERE)
    assert await everything(harness) == before
    assert await harness.rows("SELECT count(*) FROM projects") == projects


@pytest.mark.parametrize("question", SPEAKING)
async def test_in_its_own_project_a_token_speaks_as_its_agent_and_as_no_other(
    question: str, harness: DoorsHarness
) -> None:
    own = "red-box" if question.startswith("MailboxService.") else "red"
    tokens = [
        Credentials(via="mcp", issued_to=await id_of(harness, own)),
        Credentials(via="mcp", claimed_agents=(f"{own}@{HOME}",)),
    ]
    before = await everything(harness)

    as_others = [await outcome(token, SPEAKING[question], asked(harness), "green") for token in tokens]
    after = await everything(harness)
    as_itself = await outcome(tokens[0], SPEAKING[question], asked(harness), "red")

    assert (as_others, after) == ([ANOTHERS] * 2, before)
    assert as_itself == "ok"


@pytest.mark.parametrize("question", LOOKING)
async def test_in_its_own_project_a_token_looks_at_what_its_door_shows_to_all(
    question: str, harness: DoorsHarness
) -> None:
    token = Credentials(via="mcp", issued_to=await id_of(harness, "red"))

    assert await outcome(token, LOOKING[question], asked(harness), "green") == "ok"


@pytest.mark.parametrize("is_jwt", [True, False])
async def test_a_clean_up_puts_aside_what_is_the_tokens_own_and_counts_nothing_else(
    is_jwt: bool, harness: DoorsHarness
) -> None:
    given: dict[str, Any] = {"issued_to": await id_of(harness, "red")}
    token = Credentials(via="mcp", **({"claimed_agents": (f"red@{HOME}",)} if is_jwt else given))

    async def clean_up() -> WindowSweepCounts:
        return await asked(harness).windows.clean_up(at("red", Door.AGENTMAIL, HOME), SWEEP)

    done: WindowSweepCounts = await call_as(token, clean_up, {})

    assert (done.offline, done.stale) == (1, 0)
    assert await harness.rows("SELECT name FROM agents WHERE retired_ts IS NOT NULL") == [("red",)]


async def test_a_jwt_whose_agent_nobody_has_yet_comes_to_the_project_that_it_names(
    harness: DoorsHarness, tmp_path: Path
) -> None:
    (tmp_path / "new").mkdir()
    new = str(tmp_path / "new")
    send = SPEAKING["DoorService.send"]

    named = Credentials(via="mcp", claimed_agents=(f"blue@{new}",))
    assert await outcome(named, send, asked(harness), "blue") == ELSEWHERE
    assert await outcome(named, send, asked(harness, new), "blue") == "ok"
    assert await outcome(named, send, asked(harness, new), "blue") == "ok"
    bare = Credentials(via="mcp", claimed_agents=("grey",))
    for look in LOOKING.values():
        assert await outcome(bare, look, asked(harness), "red") == ELSEWHERE
    assert await outcome(bare, send, asked(harness), "grey") == "ok"
    assert await outcome(bare, send, asked(harness, new), "grey") == ELSEWHERE


async def test_a_bare_name_that_several_projects_have_is_of_none_of_them(harness: DoorsHarness) -> None:
    token, other = (Credentials(via="mcp", claimed_agents=(name,)) for name in ("BlueLake", "RedStone"))
    at_app = asked(harness, harness.seeded.app.human_key)

    assert await outcome(token, LOOKING["WindowMailboxService.names"], at_app, "a1") == ELSEWHERE
    assert await outcome(other, LOOKING["WindowMailboxService.names"], at_app, "a1") == "ok"


async def test_who_brings_no_agents_token_asks_as_before(harness: DoorsHarness) -> None:
    for question in {**LOOKING, **SWEEPING}.values():
        assert await outcome(Credentials(via="mcp"), question, asked(harness), "red") == "ok"

    retired = await harness.rows("SELECT name FROM agents WHERE retired_ts IS NOT NULL ORDER BY name")
    assert [name for (name,) in retired] == ["green", "red"]
