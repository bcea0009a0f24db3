"""Bad input over real HTTP: the right error type, nothing changed, the server alive. The table: bad_input_cases.py."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.bad_input_cases import TABLES
from tests.e2e.bad_input_samples import (
    ACCEPTED,
    ARCHIVED,
    ARCHIVED_MESSAGE,
    ARCHIVED_RESERVATION,
    ENDED_RESERVATION,
    PRODUCT,
    PROJECT,
    REPOSITORY,
    SURFACE,
    TOOLS,
    VALID,
    WINDOW,
    Case,
    fill_in,
)
from tests.served import Answer, Connection, Served, git

TOO_LARGE = 4 * 1024 * 1024 + 1
ACTIVITY = {"last_active_ts", "handed_ts", "shown_ts"}
"""Columns of what is written within a second after a call that was accepted: who was active, and what it proved."""
OPERATORS = ("purge_old_messages",)
MARKING = ("mark_message_read", "acknowledge_message")
SKIPPED_TABLES = "sqlite_%"
HEALTH_CHECK = "health_checked_at"  # health_check proves that the store can be written, by writing when it did
SHOWN = "shown"  # the event that tells a sender what an accepted call proved, and the counter that events move
EVENTS_SO_FAR = "delivery"


class Witness:
    """Says whether anything in the store changed, apart from when agents were last active."""

    def __init__(self, database: Path) -> None:
        self._db = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, isolation_level=None)
        self._version = self._data_version()
        self._digest = self._look()

    def close(self) -> None:
        self._db.close()

    def saw_change(self) -> bool:
        """Since the last time it was asked. Cheap while nobody committed anything."""
        version = self._data_version()
        if version == self._version:
            return False
        before, self._digest, self._version = self._digest, self._look(), version
        return before != self._digest

    def _data_version(self) -> int:
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def _look(self) -> str:
        digest = hashlib.sha256()
        tables = self._db.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE ? "
            "AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'messages_fts%' ORDER BY name",
            (SKIPPED_TABLES,),
        ).fetchall()
        for (table,) in tables:
            columns = [row[1] for row in self._db.execute(f'PRAGMA table_info("{table}")') if row[1] not in ACTIVITY]
            chosen = ", ".join(f'"{column}"' for column in columns)
            for row in self._db.execute(f'SELECT {chosen} FROM "{table}" ORDER BY {chosen}'):
                if row[0] in (HEALTH_CHECK, EVENTS_SO_FAR) or (table == "feed" and SHOWN in row):
                    continue
                digest.update(repr((table, row)).encode())
        return digest.hexdigest()


class Bench:
    """A store with something in it, a connection, and the witness."""

    def __init__(self, server: Served) -> None:
        self.server = server
        self.connection = server.connect()
        self.operator_token = (server.root / "operator.token").read_text().strip()
        self._fill()
        server.await_drained()
        self.witness = Witness(server.database)
        self.heads = self.archive_heads()
        self.settled = True

    def close(self) -> None:
        self.connection.close()
        self.witness.close()

    def _fill(self) -> None:
        call = self.connection.call
        profile = {"program": "tests", "model": "none"}
        for key, names in ((PROJECT, ("BlueLake", "RedStone", "GoneElm")), (ARCHIVED, ("OldOak",))):
            call("ensure_project", human_key=key)
            for name in names:
                call("register_agent", project_key=key, name=name, **profile)
        call("send_message", **VALID["send_message"], topic="parser", thread_id="plan-1")
        old = {"project_key": ARCHIVED, "sender_name": "OldOak", "to": ["OldOak"], "subject": "s", "body_md": "b"}
        old_message = call("send_message", **old)["deliveries"][0]["payload"]["id"]
        of_old = {"project_key": ARCHIVED, "agent_name": "OldOak", "paths": ["src/app.py"]}
        old_reservation = call("file_reservation_paths", **of_old)["granted"][0]["id"]
        self.places = {
            REPOSITORY: str(self._make_repository()),
            ARCHIVED_MESSAGE: old_message,
            ARCHIVED_RESERVATION: old_reservation,
            ENDED_RESERVATION: self._reserve_and_release(),
        }
        self._make_product_and_window(profile)
        call("deregister_agent", project_key=PROJECT, agent_name="GoneElm")
        call("archive_project", project_key=ARCHIVED)

    def _make_repository(self) -> Path:
        repository = self.server.root.with_name("code")
        repository.mkdir()
        git(repository, "init", "--quiet")
        return repository

    def _reserve_and_release(self) -> int:
        of_blue = {"project_key": PROJECT, "agent_name": "BlueLake", "paths": ["docs/**"]}
        reservation = self.connection.call("file_reservation_paths", **of_blue)["granted"][0]["id"]
        self.connection.call("release_file_reservations", **of_blue)
        return int(reservation)

    def _make_product_and_window(self, profile: dict[str, str]) -> None:
        if "products_link" in TOOLS:
            self.connection.call("ensure_product", product_key=PRODUCT)
            self.connection.call("products_link", product_key=PRODUCT, project_key=PROJECT)
        if "rename_window" in TOOLS:
            from_window = {"project_key": PROJECT, "name": "RedStone", **profile}
            assert self.connection.rpc("register_agent", from_window, **{"X-Agent-Window": WINDOW}).status == 200

    def rebase(self) -> None:
        """Take what stands now as unchanged, after a test that changed something on purpose."""
        self.server.await_drained()
        self.witness.saw_change()
        self.heads = self.archive_heads()
        self.settled = True

    def settle(self) -> None:
        """Before the witness is asked again: after accepted changes, however many, one wait for the archive."""
        if not self.settled:
            self.rebase()

    def archive_heads(self) -> dict[str, str]:
        return {path.name: git(path, "rev-parse", "HEAD") for path in self.server.archives()}

    def send(self, case: Case) -> Answer:
        headers = {"Authorization": f"Bearer {self.operator_token}"} if case.tool in OPERATORS else {}
        return self.connection.rpc(case.tool, fill_in(case.arguments, self.places), **headers)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Served(tmp_path_factory.mktemp("bad-input") / "store") as server:
        bench = Bench(server)
        yield bench
        assert bench.connection.call("health_check")["status"] == "ok", "alive and well after all of it"
        server.await_drained()
        assert bench.archive_heads() == bench.heads, "no archive got a commit"
        bench.close()


Named = tuple[str, Case]
"""A case, and the name by which a failure tells it."""


def _parameter_of(case: Case) -> str:
    """What the case changes in a good call; `several` for more than one argument."""
    good = VALID[case.tool]
    changed = [name for name in {**good, **case.arguments} if not _stands_in_both(name, good, case.arguments)]
    return changed[0] if len(changed) == 1 else "several"


def _stands_in_both(name: str, good: dict[str, Any], bad: dict[str, Any]) -> bool:
    return name in good and name in bad and type(good[name]) is type(bad[name]) and good[name] == bad[name]


def _by_tool_and_parameter(tables: Iterable[Callable[[], Iterator[Case]]]) -> dict[str, list[Named]]:
    groups: dict[str, list[Named]] = {}
    for table in tables:
        for case in table():
            groups.setdefault(f"{case.tool}-{_parameter_of(case)}", []).append((f"{table.__name__}-{case}", case))
    return {name: sorted(cases, key=lambda named: named[1].fits == ACCEPTED) for name, cases in groups.items()}


GROUPS = _by_tool_and_parameter(TABLES)


@pytest.mark.parametrize("group", GROUPS)
def test_bad_input_gets_the_right_error_and_changes_nothing(
    group: str, bench: Bench, record_property: Callable[[str, object], None]
) -> None:
    faults = [f"{name}: {fault}" for name, case in GROUPS[group] if (fault := _fault_of(case, bench))]
    bench.settle()

    record_property("cases", len(GROUPS[group]))
    assert not faults, f"{len(faults)} of {len(GROUPS[group])} cases:\n" + "\n".join(faults)


def test_every_case_of_every_table_is_asked_once() -> None:
    asked = sorted(name for group in GROUPS.values() for name, _ in group)

    assert asked == sorted(f"{table.__name__}-{case}" for table in TABLES for case in table())


def _fault_of(case: Case, bench: Bench) -> str | None:
    """What is wrong with the answer to one case; the cases after it are asked all the same."""
    try:
        _check_answer(case, bench)
    except (AssertionError, OSError, HTTPException) as fault:
        return f"{type(fault).__name__}: {fault}"
    return None


def _check_answer(case: Case, bench: Bench) -> None:
    if case.fits != ACCEPTED or TOOLS[case.tool]["read_only"]:
        bench.settle()
    answer = bench.send(case)

    assert answer.error_type in case.fits, f"{answer.status} {answer.value!r:.600}"
    if answer.error_type != "OK":
        _check_error(answer)
        assert not bench.witness.saw_change(), "a refused call leaves no trace"
    elif TOOLS[case.tool]["read_only"] or case.tool in MARKING:
        assert not bench.witness.saw_change(), "a read, or a mark on nobody's mail, changes nothing"
    else:
        bench.settled = False


def _check_error(answer: Answer) -> None:
    error = answer.error
    assert sorted(error) == sorted(SURFACE["error_keys"])
    assert error["message"].strip()
    assert isinstance(error["data"], dict)
    assert isinstance(error["recoverable"], bool)
    assert len(json.dumps(error)) < 20_000, "an error does not carry the bad input back at full length"


def test_every_tool_has_valid_arguments_in_the_table() -> None:
    assert sorted(VALID) == sorted(TOOLS)


def test_an_unknown_project_and_an_unknown_agent_come_with_the_nearest_names(bench: Bench) -> None:
    project = bench.connection.rpc("whois", {"project_key": "/code/bad-inputs", "agent_name": "BlueLake"})
    agent = bench.connection.rpc("whois", {"project_key": PROJECT, "agent_name": "BlueLak"})
    recipient = bench.connection.rpc("send_message", {**VALID["send_message"], "to": ["RedSton"]})

    assert PROJECT in json.dumps(project.error["data"])
    assert "BlueLake" in json.dumps(agent.error["data"])
    assert "RedStone" in json.dumps(recipient.error["data"])


def test_an_unknown_argument_names_the_accepted_ones_and_the_nearest(bench: Bench) -> None:
    answer = bench.connection.rpc("fetch_inbox", {**VALID["fetch_inbox"], "limits": 5})

    assert answer.error["data"]["nearest"][0] == "limit"
    assert set(TOOLS["fetch_inbox"]["params"]) <= set(answer.error["data"]["accepted"])


def test_marking_and_acknowledging_anothers_mail_changes_nothing_and_is_no_error(bench: Bench) -> None:
    of_another = {"project_key": PROJECT, "agent_name": "BlueLake", "message_id": 1}

    read = bench.connection.call("mark_message_read", **of_another)
    acknowledged = bench.connection.call("acknowledge_message", **of_another)

    nothing = {"message_id": 1, "verified": False, "read_at": None, "reason": "not_a_recipient"}
    assert read == {**nothing, "read": False}
    assert acknowledged == {**nothing, "acknowledged": False, "acknowledged_at": None}
    assert not bench.witness.saw_change()


@pytest.mark.parametrize("path", ["/rpc/send_message", "/mcp", "/mcp/", "/api"])
def test_a_body_over_four_mebibytes_is_refused_below_the_tools(path: str, bench: Bench) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    with bench.server.connect() as connection:
        try:
            answer = connection.request("POST", path, b'{"a":"' + b"x" * TOO_LARGE + b'"}', headers)
        except (BrokenPipeError, ConnectionResetError):
            answer = None

    assert answer is None or (answer.status == 413 and "over 4 MiB" in answer.value["detail"])
    assert not bench.witness.saw_change()


BROKEN_BODIES = {
    "no-json": b"{",
    "no-utf-8": b'{"project_key": "\xff\xfe"}',
    "a-list": b"[]",
    "a-text": b'"x"',
    "null": b"null",
    "a-number": b"1",
    "deep": b"[" * 10_000,
    "deep-object": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "nul-byte": b'{"project_key": "\x00"}',
    "no-number": b'{"limit": NaN}',
    "long-number": b'{"limit": ' + b"9" * 100_000 + b"}",
    "twice": b'{"project_key": "a"}{"project_key": "b"}',
}


@pytest.mark.parametrize("label", BROKEN_BODIES)
@pytest.mark.parametrize("tool", ["send_message", "fetch_inbox", "health_check"])
def test_a_body_that_is_no_json_object_is_invalid_input(tool: str, label: str, bench: Bench) -> None:
    answer = bench.connection.request(
        "POST", f"/rpc/{tool}", BROKEN_BODIES[label], {"Content-Type": "application/json"}
    )

    assert answer.error_type == "INVALID_INPUT"
    assert not bench.witness.saw_change()


@pytest.mark.parametrize("label", BROKEN_BODIES)
def test_a_broken_body_over_mcp_is_an_error_and_leaves_the_server_alive(label: str, bench: Bench) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    with bench.server.connect() as connection:
        answer = connection.request("POST", "/mcp", BROKEN_BODIES[label], headers)

    assert 400 <= answer.status < 500
    assert bench.connection.call("health_check")["status"] == "ok"


OVER_MCP = [
    ("missing", "send_message", {"project_key": PROJECT}, "INVALID_INPUT"),
    ("unknown-agent", "whois", {"project_key": PROJECT, "agent_name": "Nobody"}, "NOT_FOUND"),
    ("unknown-argument", "fetch_inbox", {**VALID["fetch_inbox"], "made_up": 1}, "INVALID_INPUT"),
    ("no-recipient", "send_message", {**VALID["send_message"], "to": ["Nobody"]}, "RECIPIENT_NOT_FOUND"),
    ("as-human", "send_message", {**VALID["send_message"], "sender_name": "Human"}, "PERMISSION_DENIED"),
    ("retired", "send_message", {**VALID["send_message"], "to": ["GoneElm"]}, "RECIPIENT_RETIRED"),
]


@pytest.mark.parametrize(("label", "tool", "arguments", "error_type"), OVER_MCP, ids=[row[0] for row in OVER_MCP])
def test_over_mcp_the_error_is_the_same(
    label: str, tool: str, arguments: dict[str, Any], error_type: str, bench: Bench
) -> None:
    del label
    with bench.server.connect() as session:
        session.open_session()
        result = session.tool(tool, **arguments)

    error = result["structuredContent"]["error"]
    assert (result["isError"], error["type"]) == (True, error_type)
    assert bench.connection.rpc(tool, arguments).error == error
    assert not bench.witness.saw_change()


BAD_URIS = [
    "resource://nowhere",
    "resource://message/abc",
    "resource://message/0",
    "resource://message/99999999",
    "resource://message/-1",
    "resource://inbox/Nobody",
    "resource://inbox/..%2f..%2fetc",
    "resource://project/nope",
    "resource://inbox/BlueLake?project=%2Fnope",
    "resource://inbox/BlueLake?limit=-1",
    "resource://inbox/BlueLake?limit=x",
    "resource://inbox/BlueLake?since_ts=yesterday",
    "resource://thread/..%2F..",
    "resource://thread/%00",
    "http://x/",
    "resource://",
    "resource://agents/",
    "",
    "file:///etc/passwd",
    "resource://inbox/%ff",
    "resource://thread/never-said",
    "resource://views/ack-overdue/BlueLake?ttl_minutes=-5",
    "resource://outbox/BlueLake?include_bodies=perhaps",
    "resource://file_reservations/never-made",
    "resource://file_reservations/%2Fcode%2Fbad-input?limit=0",
    "resource://file_reservations/%2Fcode%2Fbad-input?after_id=-1",
    "resource://file_reservations/%2Fcode%2Fbad-input?active_only=perhaps",
    "resource://product/never-made",
    "resource://product/..%2f..",
    "resource://identity/never-made",
    "resource://identity/%00",
    "resource://agents/never-made",
    "resource://mailbox/Nobody?project=%2Fcode%2Fbad-input",
    "resource://views/acks-stale/BlueLake?project=%2Fcode%2Fbad-input&ttl_seconds=soon",
    "resource://tooling/capabilities/Nobody?project=%2Fcode%2Fbad-input",
    "resource://tooling/recent/soon",
    "resource://tooling/recent/0",
    "resource://tooling/recent/-1",
]


@pytest.mark.parametrize("uri", BAD_URIS)
def test_a_bad_resource_uri_is_an_error_never_an_empty_success(uri: str, bench: Bench) -> None:
    with bench.server.connect() as session:
        session.open_session()
        answer = session.mcp("resources/read", uri=uri)

    assert answer["error"]["data"]["error"]["type"] in ("NOT_FOUND", "INVALID_INPUT")
    assert not bench.witness.saw_change()


WINDOWS = {
    "no-uuid": "window-1",
    "too-long": "x" * 4_000,
    "traversal": "../../etc/passwd",
    "half-a-uuid": WINDOW[:18],
    "two": f"{WINDOW}, {WINDOW}",
}


@pytest.mark.parametrize("label", WINDOWS)
@pytest.mark.parametrize("tool", ["create_agent_identity", "register_agent"])
def test_a_window_that_is_no_uuid_registers_nobody(tool: str, label: str, bench: Bench) -> None:
    arguments = {key: value for key, value in VALID[tool].items() if key != "name"}

    answer = bench.connection.rpc(tool, arguments, **{"X-Agent-Window": WINDOWS[label]})

    assert answer.error_type == "INVALID_INPUT"
    assert not bench.witness.saw_change()


INVALID_PARAMS = -32602
PROMPTS: list[tuple[str, dict[str, Any]]] = [
    ("prompts/get", {"name": "never-made"}),
    ("prompts/get", {"name": ""}),
    ("prompts/get", {"name": "start_session", "arguments": {"project_key": 5}}),
    ("prompts/get", {"name": "start_session", "arguments": ["a"]}),
    ("prompts/get", {}),
    ("prompts/get", {"name": "start_session"}),
    ("prompts/get", {"name": "start_session", "arguments": {"project_key": " "}}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}}),
    ("completion/complete", {"ref": {"type": "ref/nothing"}, "argument": {"name": "a", "value": "b"}}),
    ("completion/complete", {"ref": 5, "argument": 5}),
]


@pytest.mark.parametrize(("method", "params"), PROMPTS)
def test_a_prompt_or_a_completion_that_is_wrongly_asked_for_is_an_error(
    method: str, params: dict[str, Any], bench: Bench
) -> None:
    with bench.server.connect() as session:
        session.open_session()
        answer = session.mcp(method, **params)

    assert answer["error"]["code"] == INVALID_PARAMS
    assert "Traceback" not in json.dumps(answer)
    assert not bench.witness.saw_change()


def test_the_witness_notices_a_change(bench: Bench) -> None:
    before = bench.witness.saw_change()

    bench.connection.call("set_status", project_key=PROJECT, agent_name="RedStone", status="busy", note="seen?")

    assert (before, bench.witness.saw_change()) == (False, True)
    bench.rebase()


def test_a_connection_that_leaves_in_the_middle_of_a_body_harms_nobody(bench: Bench) -> None:
    raw = Connection(bench.server.port)
    raw._http.putrequest("POST", "/rpc/send_message")
    raw._http.putheader("Content-Length", "1000")
    raw._http.endheaders(b'{"project_key":')

    raw.close()

    assert bench.connection.call("health_check")["status"] == "ok"
