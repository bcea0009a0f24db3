"""Calls of other packages' tools by the whole server: as whom they run, and what becomes of what they give."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx
import pytest

from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.custom_calls import _outcome, custom_specs
from mcp_agent_mail.bootstrap.custom_tools import CustomTools
from mcp_agent_mail.bootstrap.left_calls import MAX_LEFT, CustomToolUnfinished
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.extending import CALLER_NAME, PROJECT_KEY, Choice, Conflict, Host, Json, Text, ToolSpec, tool
from mcp_agent_mail.server.assembly import build_http_app
from mcp_agent_mail.server.lifespan import _store
from tests.server.test_mcp import JSON_HEADERS
from tests.server.whole_app import OPERATOR, PLACE, WholeApp, settings_of

APP = "/code/app"
WITHIN_S = 30
UNFIT: dict[str, Callable[[], Json]] = {
    "an object of no such kind": object,
    "a number that is too long": lambda: {"n": 1 << 70},
    "no object": lambda: "text",
    "an array that was not declared": lambda: [1],
    "too much": lambda: {"text": "x" * (1 << 20)},
    "nothing": lambda: None,
    "what is no number": lambda: {"rows": [{"null": None, "n": float("nan")}]},
    "what has no end": lambda: {"rows": (1, -float("inf"))},
}


def asking(host: Host) -> list[ToolSpec]:
    """Tools that ask their host."""

    async def who() -> Json:
        """Who calls."""
        caller = await host.caller()
        return {"agent": caller.agent, "project": caller.project, "sure": [caller.is_verified, caller.is_operator]}

    async def relay(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        tool: Annotated[str, Text()],
    ) -> Json:
        """Call another."""
        return {"result": await host.call(tool, project_key=project_key, agent_name=agent_name)}

    return [tool(who, title="Who"), tool(relay, title="Relay", read_only=True)]


class Panicked(BaseException):
    """As of an extension that is not written in Python."""


RAISED: dict[str, Callable[[], BaseException]] = {
    "bug": lambda: ValueError("a secret of the package"),
    "time": lambda: TimeoutError("a secret of the package"),
    "panic": lambda: Panicked("a secret of the package"),
    "exit": lambda: SystemExit(3),
    "interrupt": KeyboardInterrupt,
    "closed": GeneratorExit,
    "left": asyncio.CancelledError,
    "refusal": lambda: Conflict("It is taken.", hint="Take another.", data={"by": "me"}),
    "odd refusal": lambda: Conflict("It is taken.", data={"by": object()}),
    "wordless refusal": lambda: Conflict(None, hint=None),  # type: ignore[arg-type]  # as a package may
    "long refusal": lambda: Conflict("x" * (1 << 20)),
}
HOWS = (*(how for how in RAISED if how != "refusal"), "cancelled")


async def fail(*, how: Annotated[str, Choice((*HOWS, "refusal", "hang"))]) -> Json:
    """Fail."""
    if how in RAISED:
        error = RAISED[how]()
        raise error
    if how == "cancelled":
        running = asyncio.current_task()
        assert running is not None
        running.cancel()
    await asyncio.Event().wait()


async def give(*, what: Annotated[str, Choice(tuple(UNFIT))]) -> Json:
    """Give what is no answer."""
    return UNFIT[what]()


async def numbers() -> Json:
    """Name numbers."""
    return (1, 2)


class Odd:
    """A rule of the package's own, which fails as no rule should."""

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def convert(self, name: str, value: Json) -> Json:
        raise GeneratorExit(name, value)


async def match(*, rule: Annotated[str, Odd()]) -> Json:
    """Match."""
    return {"rule": rule}


def made(host: Host) -> list[ToolSpec]:
    listing = tool(numbers, title="Numbers", read_only=True, result_list=True)
    others = [tool(one, title="Toy") for one in (fail, give, match)]
    return [*asking(host), *others, listing]


@asynccontextmanager
async def with_tools(directory: Path, **settings: str) -> AsyncIterator[WholeApp]:
    """The whole application with the tools above, and an agent that has its token from the answer."""
    host = Host()
    custom = CustomTools(specs=tuple(made(host)), host=host)
    loaded = settings_of(directory, **settings)
    async with _store(loaded, no_fault) as store:
        services = build_services(loaded, store, place=PLACE, operator_token=OPERATOR, custom=custom)
        app = build_http_app(loaded, services, operator_token=OPERATOR)
        transport = httpx.ASGITransport(app=app)
        async with (
            app.opened(),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client,
        ):
            yield WholeApp(services, store, client)
        await services.close(timeout_s=1.0)


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[WholeApp]:
    async with with_tools(tmp_path) as app:
        yield app


async def registered(app: WholeApp, name: str = "BlueLake", headers: Mapping[str, str] | None = None) -> str:
    """Its token."""
    await app.call("ensure_project", headers, human_key=APP)
    answer = await app.call("register_agent", headers, project_key=APP, program="p", model="m", name=name)
    token: str = answer["registration_token"]
    return token


async def refused(app: WholeApp, tool: str, /, headers: Mapping[str, str] | None = None, **arguments: Any) -> Any:
    answer = await app.client.post(f"/rpc/{tool}", json=arguments, headers=dict(headers or {}))
    assert answer.status_code != 200, answer.text
    return answer.json()["error"]


async def test_who_calls_is_what_a_token_proves_or_the_connection_says(app: WholeApp) -> None:
    token = await registered(app)
    said = {"X-Agent-Name": "RedStone", "X-Agent-Project": APP}

    assert await app.call("who") == {"agent": None, "project": None, "sure": [False, False]}
    assert await app.call("who", said) == {"agent": "RedStone", "project": APP, "sure": [False, False]}
    assert await app.call("who", registration_token=token) == {
        "agent": "BlueLake",
        "project": APP,
        "sure": [True, False],
    }
    assert (await app.call("who", {"Authorization": f"Bearer {OPERATOR}"}))["sure"] == [False, True]


async def test_a_wrong_token_is_refused_before_the_tool_runs(app: WholeApp) -> None:
    await registered(app)

    assert (await refused(app, "numbers", {"X-Agent-Token": "amt_wrong"}))["type"] == "PERMISSION_DENIED"


async def test_in_strict_mode_nobody_calls_without_a_token(tmp_path: Path) -> None:
    async with with_tools(tmp_path, AGENT_AUTH="strict") as app:
        operator = {"Authorization": f"Bearer {OPERATOR}"}
        without = await refused(app, "numbers")
        numbers = await app.call("numbers", operator)

    assert (without["type"], without["message"]) == (
        "AUTHENTICATION_REQUIRED",
        "Calling numbers needs an agent's token (AGENT_AUTH=strict).",
    )
    assert numbers == [1, 2]


async def test_tools_of_the_server_are_called_as_the_caller_with_its_rights_alone(tmp_path: Path) -> None:
    async with with_tools(tmp_path, AGENT_AUTH="strict") as app:
        operator = {"Authorization": f"Bearer {OPERATOR}"}
        tokens = [await registered(app, name, operator) for name in ("BlueLake", "RedStone")]
        relay: dict[str, Any] = {"project_key": APP, "agent_name": "RedStone", "tool": "fetch_inbox"}
        anothers = await refused(app, "relay", {"X-Agent-Token": tokens[0]}, **relay)
        own = await app.call("relay", {"X-Agent-Token": tokens[1]}, **relay)
        in_arguments = await app.call("relay", registration_token=tokens[1], **relay)

    assert anothers["message"] == "The token given belongs to BlueLake, not to RedStone."
    assert own == in_arguments == {"result": []}


async def test_a_reader_calls_nothing_that_writes_by_a_tool_that_says_it_only_reads(app: WholeApp) -> None:
    await registered(app)
    operator = {"Authorization": f"Bearer {OPERATOR}"}
    made = await app.client.post("/rpc/create_issued_token", json={"role": "reader"}, headers=operator)
    reader = {"Authorization": f"Bearer {made.json()['token']}"}
    status: dict[str, Any] = {"project_key": APP, "agent_name": "BlueLake", "tool": "set_status"}

    error = await refused(app, "relay", reader, **status)

    assert (error["type"], error["data"]) == ("PERMISSION_DENIED", {"held": "reader", "needed": "writer"})


async def test_other_custom_tools_are_not_called_and_what_there_is_not_is_refused(app: WholeApp) -> None:
    await registered(app)
    relay: dict[str, Any] = {"project_key": APP, "agent_name": "BlueLake"}

    assert "calls the server's own tools alone" in (await refused(app, "relay", tool="who", **relay))["hint"]
    assert (await refused(app, "relay", tool="no_such", **relay))["message"] == "Unknown tool: no_such"
    assert (await refused(app, "relay", tool="summarize_thread", **relay))["type"] == "INVALID_INPUT"
    assert (await refused(app, "relay", tool="reissue_token", **relay))["type"] == "PERMISSION_DENIED"


@pytest.mark.parametrize("how", HOWS)
async def test_a_bug_is_masked_with_the_requests_id(app: WholeApp, how: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        error = await refused(app, "fail", how=how)

    assert (error["type"], error["message"]) == ("INTERNAL", "The server failed while running tool fail.")
    assert error["data"]["request_id"]
    assert "secret" not in str(error)
    assert "tool fail failed" in caplog.text


@pytest.mark.parametrize("how", HOWS)
async def test_no_way_to_fail_ends_the_server(app: WholeApp, how: str) -> None:
    """Over MCP a call runs below the task group that all of the server's sessions live in."""
    failed, after = [await _over_mcp(app, "fail", how=way) for way in (how, "refusal")]

    assert [failed["structuredContent"]["error"]["type"], after["structuredContent"]["error"]["type"]] == [
        "INTERNAL",
        "CONFLICT",
    ]
    assert failed["structuredContent"]["error"]["data"]["request_id"]


async def test_a_rule_that_fails_as_no_rule_should_ends_the_call_alone(app: WholeApp) -> None:
    failed, after = await _over_mcp(app, "match", rule="x"), await _over_mcp(app, "numbers")

    assert failed["structuredContent"]["error"]["type"] == "INTERNAL"
    assert after["structuredContent"] == {"result": [1, 2]}


async def _over_mcp(app: WholeApp, tool: str, **arguments: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    return (await app.client.post("/mcp", json=message, headers=JSON_HEADERS)).json()["result"]


async def test_a_refusal_reaches_the_caller_as_it_is(app: WholeApp) -> None:
    error = await refused(app, "fail", how="refusal")

    assert (error["type"], error["message"], error["hint"]) == ("CONFLICT", "It is taken.", "Take another.")
    assert error["data"] == {"by": "me"}


@pytest.mark.parametrize("what", UNFIT)
async def test_what_is_no_answer_is_a_bug(app: WholeApp, what: str) -> None:
    assert (await refused(app, "give", what=what))["type"] == "INTERNAL"


async def test_one_that_does_not_end_is_stopped(app: WholeApp) -> None:
    (fail,) = (spec for spec in app.services.custom.specs if spec.name == "fail")
    short = custom_specs(CustomTools(specs=(fail,)), app.services.identity, time_limit_s=0.01)

    with pytest.raises(Exception, match=r"fail took more than 0\.01 s and was told to stop"):
        await ToolTable(short).run("fail", {"how": "hang"}, Credentials(via="rpc"))


async def test_a_call_that_is_cancelled_ends_as_cancelled(app: WholeApp) -> None:
    begun = asyncio.Event()

    async def hold() -> Json:
        """Hold."""
        begun.set()
        await asyncio.Event().wait()

    held = custom_specs(CustomTools(specs=(tool(hold, title="Hold"),)), app.services.identity, time_limit_s=60)
    calling = asyncio.create_task(ToolTable(held).run("hold", {}, Credentials(via="rpc")))
    await begun.wait()
    calling.cancel()

    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_one_that_will_not_be_cancelled_holds_up_neither_its_caller_nor_the_stop(
    app: WholeApp, caplog: pytest.LogCaptureFixture
) -> None:
    ends, answers = asyncio.Event(), []

    async def stay() -> Json:
        """Stay."""
        while not ends.is_set():
            try:
                await ends.wait()
            except asyncio.CancelledError:
                continue
        raise ValueError("a secret of the package")

    custom = CustomTools(specs=(tool(stay, title="Stay"),))
    table = ToolTable(custom_specs(custom, app.services.identity, time_limit_s=0.01))
    for _ in range(MAX_LEFT + 1):
        with pytest.raises(CustomToolUnfinished) as refused:
            await table.run("stay", {}, Credentials(via="rpc"))
        answers.append(refused.value.message)
    left = await custom.left.settle(0.01)
    ends.set()

    assert answers == [
        *["stay took more than 0.01 s and was told to stop."] * MAX_LEFT,
        f"{MAX_LEFT} calls of stay were told to stop and have not ended.",
    ]
    assert left == ["stay"]
    assert await custom.left.settle(WITHIN_S) == []
    assert "secret" not in caplog.text


async def test_a_call_that_its_caller_has_left_has_until_the_stop_to_end(app: WholeApp) -> None:
    begun, done = asyncio.Event(), []

    async def tidy() -> Json:
        """Tidy up."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            done.append("tidied")

    custom = CustomTools(specs=(tool(tidy, title="Tidy"),))
    calling = asyncio.create_task(
        ToolTable(custom_specs(custom, app.services.identity)).run("tidy", {}, Credentials(via="rpc"))
    )
    await begun.wait()
    calling.cancel()
    await asyncio.wait({calling})

    assert (await custom.left.settle(WITHIN_S), done) == ([], ["tidied"])


async def test_a_call_that_is_thrown_away_with_its_loop_is_no_bug_of_the_packages() -> None:
    async def wait() -> Json:
        """Wait."""
        await asyncio.Event().wait()
        return {}

    call = _outcome(tool(wait, title="Wait"), {})
    call.send(None)

    call.close()

    assert inspect.getcoroutinestate(call) == inspect.CORO_CLOSED
