"""What is asked of every resource, with arguments of what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote, urlencode

from tests.rebuild.facts import Facts

Asks = Callable[[Facts], Iterator[str]]


def _once(path: str) -> Asks:
    def asks(_: Facts) -> Iterator[str]:
        yield path

    return asks


def _each_project(path: str, *queries: str) -> Asks:
    def asks(facts: Facts) -> Iterator[str]:
        for key, slug in facts.projects:
            for query in queries or ("",):
                yield f"{path}/{slug}{query}"
            yield f"{path}/{quote(key, safe='')}"

    return asks


def _each_agent(path: str, *ways: Mapping[str, str | int]) -> Asks:
    def asks(facts: Facts) -> Iterator[str]:
        for agent in facts.agents:
            for way in ways or ({},):
                yield f"{path}/{agent.name}?{urlencode({'project': agent.project, **way})}"

    return asks


def _identity(facts: Facts) -> Iterator[str]:
    yield from _each_project("identity")(facts)
    for alias in facts.aliases:
        yield f"identity/{quote(alias, safe='')}"


def _messages(facts: Facts) -> Iterator[str]:
    for number, project, _ in facts.mail:
        yield f"message/{number}?{urlencode({'project': project})}"


def _threads(facts: Facts) -> Iterator[str]:
    for thread, project in facts.threads():
        yield f"thread/{thread}?{urlencode({'project': project, 'include_bodies': 'true'})}"


def _contents(facts: Facts) -> Iterator[str]:
    for sha256, project, _ in facts.contents:
        yield f"attachment/{sha256}?{urlencode({'project': project})}"


def _products(facts: Facts) -> Iterator[str]:
    for product in facts.products:
        yield f"product/{quote(product, safe='')}"


ASKS: Mapping[str, Asks] = {
    "resource://config/environment": _once("config/environment"),
    "resource://identity/{project}": _identity,
    "resource://projects{?include_archived,limit,after_id}": _once("projects?include_archived=true&limit=1000"),
    "resource://project/{slug}": _each_project("project"),
    "resource://agents/{project_key}{?include_retired}": _each_project("agents", "?include_retired=true"),
    "resource://message/{message_id}{?project}": _messages,
    "resource://attachment/{sha256}{?project}": _contents,
    "resource://thread/{thread_id}{?project,include_bodies,limit,after_id}": _threads,
    "resource://inbox/{agent}{?project,since_ts,urgent_only,include_bodies,limit}": _each_agent(
        "inbox", {"limit": 1000, "include_bodies": "true"}, {"urgent_only": "true"}
    ),
    "resource://outbox/{agent}{?project,limit,include_bodies,since_ts}": _each_agent("outbox", {"limit": 1000}),
    "resource://mailbox/{agent}{?project,limit}": _each_agent("mailbox", {"limit": 1000}),
    "resource://mailbox-with-commits/{agent}{?project,limit}": _each_agent("mailbox-with-commits", {"limit": 1000}),
    "resource://views/urgent-unread/{agent}{?project,limit}": _each_agent("views/urgent-unread", {"limit": 200}),
    "resource://views/ack-required/{agent}{?project,limit}": _each_agent("views/ack-required", {"limit": 200}),
    "resource://views/acks-stale/{agent}{?project,ttl_seconds,limit}": _each_agent(
        "views/acks-stale", {"ttl_seconds": 60}
    ),
    "resource://views/ack-overdue/{agent}{?project,ttl_minutes,limit}": _each_agent(
        "views/ack-overdue", {"ttl_minutes": 1}
    ),
    "resource://file_reservations/{slug}{?active_only,limit,after_id}": _each_project(
        "file_reservations", "?active_only=false&limit=1000", "?limit=1000"
    ),
    "resource://product/{key}": _products,
    "resource://tooling/directory": _once("tooling/directory"),
    "resource://tooling/schemas": _once("tooling/schemas"),
    "resource://tooling/capabilities/{agent}{?project}": _each_agent("tooling/capabilities"),
}

NOT_ASKED: Mapping[str, str] = {
    "resource://tooling/metrics": "it counts the calls of a process",
    "resource://tooling/recent/{window_seconds}{?agent,project}": "it tells of the calls of a process",
    "resource://tooling/locks": "it tells of the locks that a process holds",
}
"""Resources with the reason why their answers may differ."""
