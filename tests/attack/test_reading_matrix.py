"""Everybody asks everything of everything, over HTTP: what was read is what docs/reference/who-reads-what.md says.

`python -m tests.attack.test_reading_matrix` writes that page anew.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from mcp_agent_mail.server.assembly import ROUTES as DECLARED_ROUTES
from mcp_agent_mail.server.prompts import WORKFLOWS
from tests.attack.reading_asks import COMPLETIONS, EVENTS, IN_THE_SENDERS_NAME, RESOURCES, ROUTES, TOOLS, uri_of
from tests.attack.served_secrets import APP, CALLERS, SECRETS, ServedSecrets, serve_secrets, words_in
from tests.served import Connection, Json
from tests.server.reference_pages import declared

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "who-reads-what.md"
MAKE = "python -m tests.attack.test_reading_matrix"
MODES = ("open", "strict")

Read = dict[str, dict[str, list[str]]]
"""What was read, by what was asked and by whom."""

_DIRECTORY = {"profile"}
_WORK = {"mail", "blind copy", "mail to both projects", "blind copy to elsewhere", "lease", "slot", "window name"}
_OWN = {"blind recipient's name", "held mail", "contact request", "guard event", "window id"}
_AT_ITS_WORD = _OWN - {"blind recipient's name", "guard event", "window id"}
"""Where names are taken at their word, whoever names an agent acts as it; what only a proof opens stays closed."""


@cache
def allowed(caller: str, mode: str) -> frozenset[str]:
    """At most, by the threat model, whatever is asked."""
    if caller == "operator":
        return frozenset(SECRETS)
    if caller == "stranger" or (caller, mode) == ("anonymous", "strict"):
        return frozenset(_DIRECTORY)
    if caller == "anonymous":
        return frozenset(_DIRECTORY | _WORK | _AT_ITS_WORD)
    return frozenset(_DIRECTORY | _WORK)


def ask_all(served: ServedSecrets) -> Read:
    read: Read = {}
    for caller in CALLERS:
        with served.connect(caller) as connection:
            for asked, answer in _ask(served, connection):
                read.setdefault(asked, {})[caller] = words_in(answer)
    return read


def _ask(served: ServedSecrets, connection: Connection) -> Iterator[tuple[str, Json]]:
    """Resources first: tools leave calls behind that would be read."""
    slugs = {one["human_key"]: one["slug"] for one in _resource(connection, "resource://projects")}
    for template in RESOURCES:
        yield template, _resource(connection, uri_of(template, served, slugs.__getitem__))
    for name, arguments in TOOLS.items():
        yield name, connection.rpc(name, dict(arguments)).value
    yield from _in_the_senders_name(served, connection)
    for path, (method, body) in ROUTES.items():
        sent = None if body is None else json.dumps(body).encode()
        real = path.replace("code-reading-app", slugs[APP])
        answer = connection.request(method, real, sent, {} if sent is None else {"Content-Type": "application/json"})
        yield f"{method} {path}", answer.value
    yield from _over_mcp(connection)


def _in_the_senders_name(served: ServedSecrets, connection: Connection) -> Iterator[tuple[str, Json]]:
    for name, arguments in IN_THE_SENDERS_NAME.items():
        given = dict(arguments)
        if "message_id" in given:
            given["message_id"] = served.ids[given["message_id"]]
        answer = connection.rpc(name, given).value
        yield f"{name} as the sender", answer
        if name == "fetch_inbox_events":
            # As many as the feed has: it would wait for more.
            yield "GET /rest/v1/events as the sender", connection.events(EVENTS, len(answer.get("events", [])))


def _resource(connection: Connection, uri: str) -> Json:
    return connection.rpc("read_resource", {"uri": uri}).value


def _over_mcp(connection: Connection) -> Iterator[tuple[str, Json]]:
    """What has no way beside MCP. The operator has no rights there: its token is nobody's."""
    connection.open_session()
    for listing in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        yield listing, connection.mcp(listing)
    for workflow in WORKFLOWS:
        given = dict.fromkeys(workflow.arguments, "BlueLake") | {"project_key": APP}
        yield f"prompt {workflow.name}", connection.mcp("prompts/get", name=workflow.name, arguments=given)
    template = next(uri for uri in RESOURCES if uri.startswith("resource://thread/"))
    for name in COMPLETIONS:
        yield (
            f"completion of {name}",
            connection.mcp(
                "completion/complete",
                ref={"type": "ref/resource", "uri": template},
                argument={"name": name, "value": ""},
                context={"arguments": {"project": APP}},
            ),
        )


def matrix(root: Path) -> Mapping[str, Read]:
    found = {}
    for mode in MODES:
        with serve_secrets(root / mode, mode) as served:
            found[mode] = ask_all(served)
    return found


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Read]:
    return matrix(tmp_path_factory.mktemp("reading"))


def test_every_tool_resource_and_route_has_its_row() -> None:
    tools, resources = declared()

    assert sorted(TOOLS) == sorted(spec.name for spec in tools)
    assert sorted(RESOURCES) == sorted(spec.uri for spec in resources)
    assert set(IN_THE_SENDERS_NAME) <= set(TOOLS)
    assert [one for one in DECLARED_ROUTES if not any(path.startswith(one) for path in ROUTES)] == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("caller", CALLERS)
def test_nobody_reads_more_than_the_threat_model_lets_it(read: Mapping[str, Read], mode: str, caller: str) -> None:
    too_much = {
        asked: more for asked, by in read[mode].items() if (more := sorted(set(by[caller]) - allowed(caller, mode)))
    }

    assert too_much == {}


@pytest.mark.slow
def test_each_secret_can_be_read_by_who_may(read: Mapping[str, Read]) -> None:
    for mode in MODES:
        seen = {of for by in read[mode].values() for of in by["operator"]}
        assert seen >= set(SECRETS) - {"slot", "contact request"}, mode
        assert "blind copy" in read[mode]["fetch_inbox"]["blind recipient"]
        for asked in ("message_status", "fetch_inbox_events", "GET /rest/v1/events"):
            assert "blind recipient's name" in read[mode][f"{asked} as the sender"]["operator"], asked


@pytest.mark.slow
def test_the_page_says_what_was_read(read: Mapping[str, Read]) -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read), f"run: {MAKE}"


_HEAD = f"""\
# Who reads what

<!-- Made by `{MAKE}`: everybody asked everything of a running server; a test compares. -->

A server with a secret in every kind of record was asked for everything by everybody: somebody without a token, an agent
of another project, an agent of the project who is no party to its mail, the recipient of a blind copy, the operator.
Acts are asked for in the name of the blind recipient, and what tells senders of their mail in the sender's too. The
cells name whose secrets the answer held; `-` is none.
What nobody got anything of but profiles is left out below.

Under `open` a name is taken at its word, so whoever sends no token can act as the blind recipient and read its mail.
"""


def page(found: Mapping[str, Read]) -> str:
    parts = [_HEAD]
    for mode in MODES:
        rows = [f"\n## AGENT_AUTH={mode}\n\n| asked | {' | '.join(CALLERS)} |\n|---{'|---' * len(CALLERS)}|\n"]
        for asked, by in found[mode].items():
            if any(set(of) - _DIRECTORY for of in by.values()):
                cells = " | ".join(", ".join(by[caller]) or "-" for caller in CALLERS)
                rows.append(f"| `{asked.replace('|', '')}` | {cells} |\n")
        parts.append("".join(rows))
    return "".join(parts)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="am-reading-") as folder:
        PAGE.write_text(page(matrix(Path(folder))), encoding="utf-8")
