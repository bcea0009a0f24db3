from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator

import pytest

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.offline import check
from mcp_agent_mail.cli.offline.check import check_around
from mcp_agent_mail.features.doctor.check import CheckResult
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.cli.scripted_server import ScriptedServer, answer
from tests.cli.shell import Shell


@pytest.fixture
def here(at_stopped: Shell) -> CliContext:
    return at_stopped.context()


@pytest.fixture
def owned(here: CliContext) -> Iterator[CliContext]:
    """Somebody keeps the store: this process."""
    with StoreLock(here.storage_root, here.settings.database_path):
        yield here


def say(context: CliContext, url: str | None) -> None:
    """Where the owner says that it serves the store."""
    (context.storage_root / "server.json").write_text(json.dumps({"pid": os.getpid(), "url": url, "started": "now"}))


def of_owner(context: CliContext) -> CheckResult:
    return next(iter(check_around(context)))


def test_without_a_store_there_is_nothing_to_check(shell: Shell) -> None:
    with pytest.raises(NoServer, match=rf"There is no store in {shell.home}/\.mcp_agent_mail\."):
        next(check_around(shell.context()))


def test_a_store_that_nobody_owns_is_looked_at_as_it_is(here: CliContext) -> None:
    results = list(check_around(here))

    assert "nobody holds the lock" in results[0].evidence
    assert {"locks", "database", "outbox"} < {one.check for one in results}
    assert [finding for one in results for finding in one.findings] == []


def test_an_owner_that_serves_no_address_is_no_finding(owned: CliContext) -> None:
    say(owned, None)

    owner = of_owner(owned)

    assert owner.evidence.startswith(f"process {os.getpid()} holds the lock of the store; it serves no address")
    assert owner.findings == ()


def test_an_owner_that_answers_is_well(owned: CliContext) -> None:
    with ScriptedServer(answer({"status": "ok", "archive": {"last_error": None}})) as server:
        say(owned, server.url)
        owner = of_owner(owned)

    assert owner.evidence.endswith(f"serves {server.url}; it wrote and read the store just now and says ok")
    assert [asked.path for asked in server.asked] == ["/rpc/health_check"]


def test_an_owner_that_refuses_the_question_is_a_finding_with_its_words(owned: CliContext) -> None:
    refusal = {"type": "PERMISSION_DENIED", "message": "Not this host.", "hint": "HTTP_ALLOWED_HOSTS."}
    with ScriptedServer(answer({"error": refusal}, status=403)) as server:
        say(owned, server.url)
        (finding,) = of_owner(owned).findings

    assert finding.problem == "refused"
    assert finding.evidence.endswith("did not take the question: Not this host. HTTP_ALLOWED_HOSTS.")


def test_an_owner_whose_rates_hold_the_question_up_has_no_fault(owned: CliContext) -> None:
    limited = {"type": "RATE_LIMITED", "message": "Too many.", "hint": "Again in 9 s.", "data": {"retry_after_s": 9}}
    with ScriptedServer(answer({"error": limited}, status=429)) as server:
        say(owned, server.url)
        (finding,) = of_owner(owned).findings

    assert finding.problem == "not asked"
    assert finding.evidence.endswith(f"serves {server.url}; its rates hold this question up: Too many. Again in 9 s.")
    assert finding.next_step.startswith("no fault of the server")


def test_an_owner_whose_rates_are_over_soon_is_waited_for(owned: CliContext) -> None:
    limited = {"type": "RATE_LIMITED", "message": "Too many.", "data": {"retry_after_s": 0.1}}
    well = answer({"status": "ok", "archive": {"last_error": None}})
    door = {"door": "postal", "open": True, "setting": "POSTAL_ENABLED", "at": ["/agents/{agent}/mcp"]}
    refused = answer({"error": limited}, status=429)
    with ScriptedServer(refused, well, refused, answer([door])) as server:
        say(owned, server.url)
        results = list(check_around(owned))

    assert results[0].findings == ()
    assert results[0].evidence.endswith("says ok")
    assert results[-1].evidence.startswith("postal is open")


def test_an_owner_that_keeps_silent_is_a_finding(owned: CliContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_ANSWER_TIMEOUT_S", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        say(owned, url)
        (finding,) = of_owner(owned).findings

    assert finding.problem == "silent"
    assert finding.evidence.endswith(f"which does not answer: {url} did not answer in time.")


def test_the_doors_that_a_start_would_open_are_told(at_stopped: Shell) -> None:
    closed = list(check_around(at_stopped.context()))[-1]
    at_stopped.set(POSTAL_ENABLED="true", POSTAL_PORT="7777")
    opened = list(check_around(at_stopped.context()))[-1]

    assert closed == CheckResult(check="doors", evidence="none is open: no user of another system comes in")
    assert opened.evidence == ("postal is open at /agents/{agent}/mcp and port 7777 of 127.0.0.1 (POSTAL_ENABLED)")


def test_a_project_of_doors_that_is_none_is_a_finding_where_a_door_is_open_that_needs_it(at_stopped: Shell) -> None:
    findings = {}
    for door in ("POSTAL_ENABLED", "CLAUDE_MAILBOX_ENABLED", "AGENTMAIL_ENABLED"):
        at_stopped.set(**{"FACADES_PROJECT": "no-such-slug", door: "true"})
        findings[door] = list(check_around(at_stopped.context()))[-1].findings
        at_stopped.set(**{door: "false"})
    at_stopped.set(POSTAL_ENABLED="true", FACADES_PROJECT="/not/made/yet")
    of_path = list(check_around(at_stopped.context()))[-1].findings

    assert {door: len(found) for door, found in findings.items()} == {
        "POSTAL_ENABLED": 1,
        "CLAUDE_MAILBOX_ENABLED": 1,
        "AGENTMAIL_ENABLED": 0,
    }
    assert findings["POSTAL_ENABLED"][0].evidence == "FACADES_PROJECT names no project: 'no-such-slug'."
    assert "am projects list" in findings["POSTAL_ENABLED"][0].next_step
    assert of_path == ()


@pytest.mark.usefixtures("owned")
def test_the_doors_of_a_server_are_those_that_it_has(here: CliContext) -> None:
    door = {"door": "postal", "open": True, "setting": "POSTAL_ENABLED", "at": ["/agents/{agent}/mcp"]}
    with ScriptedServer(answer({"status": "ok", "archive": {"last_error": None}}), answer([door])) as server:
        say(here, server.url)
        told = list(check_around(here))[-1]

    assert told.evidence == "postal is open at /agents/{agent}/mcp (POSTAL_ENABLED)"
