"""What is asked of every tool that only reads, with arguments of what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.rebuild.facts import AgentFacts, Facts

# Plain JSON, as calls take it.
Arguments = Mapping[str, Any]
Asks = Callable[[Facts], Iterator[Arguments]]

_ALL = 1000
_QUERIES = ("plan OR body", "subject:Plan", "write_soon", "計画", "größe", "decision AND sqlite", "data")
_TOPICS = ("build", "OPS", "a.b", "nothing")


def _who(agent: AgentFacts) -> dict[str, str]:
    return {"project_key": agent.project, "agent_name": agent.name}


def _once(_: Facts) -> Iterator[Arguments]:
    yield {}


def _each_project(**more: Any) -> Asks:
    def asks(facts: Facts) -> Iterator[Arguments]:
        for key, _ in facts.projects:
            yield {"project_key": key, **more}

    return asks


def _each_agent(*ways: Arguments) -> Asks:
    def asks(facts: Facts) -> Iterator[Arguments]:
        for agent in facts.agents:
            for way in ways:
                yield {**_who(agent), **way}

    return asks


def _inbox(facts: Facts) -> Iterator[Arguments]:
    yield from _each_agent(
        {"limit": _ALL, "include_bodies": True},
        {"limit": 0},
        {"limit": 3, "urgent_only": True},
        {"limit": _ALL, "unread_only": True},
        {"limit": 2, "topic": "build"},
        {"limit": 50, "thread_id": "plan"},
    )(facts)
    for agent in facts.agents:
        for time in facts.times:
            yield {**_who(agent), "limit": 50, "since_ts": time}
    middle = facts.mail[len(facts.mail) // 2 :][:1]
    for agent in facts.agents:
        for number, _, _ in middle:
            yield {**_who(agent), "limit": 5, "after_id": number}


def _topic(facts: Facts) -> Iterator[Arguments]:
    for key, _ in facts.projects:
        for topic in _TOPICS:
            yield {"project_key": key, "topic_name": topic, "limit": _ALL}


def _mail(facts: Facts) -> Iterator[Arguments]:
    for number, project, _ in facts.mail:
        yield {"project_key": project, "message_id": number}
    for thread, project in facts.threads():
        yield {"project_key": project, "thread_id": thread, "limit": 100}


def _status(facts: Facts) -> Iterator[Arguments]:
    for number, project, _ in facts.mail:
        yield {"project_key": project, "message_id": number}


def _threads(facts: Facts) -> Iterator[Arguments]:
    for key, slug in facts.projects:
        yield {"project_key": key, "limit": _ALL}
        yield {"project_key": slug, "limit": _ALL, "topic": "build"}
    yield from _each_agent({"limit": 5})(facts)


def _conflicts(facts: Facts) -> Iterator[Arguments]:
    for pattern, project in facts.leased:
        for agent in [agent for agent in facts.agents if agent.project == project and agent.kind == "agent"][:2]:
            yield {**_who(agent), "paths": [pattern, f"{pattern}/below.py", pattern.upper()]}


def _search(facts: Facts) -> Iterator[Arguments]:
    for key, _ in facts.projects:
        for query in _QUERIES:
            yield {"project_key": key, "query": query, "limit": _ALL, "order": "newest"}
        yield {"project_key": key, "query": _QUERIES[0], "limit": 5}
        yield {"project_key": key, "query": _QUERIES[0], "importance": "urgent", "order": "oldest"}
        yield {"project_key": key, "query": _QUERIES[0], "thread_id": "plan"}
    for agent in facts.agents:
        yield {**_who(agent), "query": _QUERIES[0], "limit": 50, "order": "oldest"}
        yield {"project_key": agent.project, "query": _QUERIES[0], "from_agent": agent.name}


def _summary(facts: Facts) -> Iterator[Arguments]:
    for thread, project in facts.threads():
        yield {"project_key": project, "thread_id": thread, "include_examples": True}


def _product(**more: Any) -> Asks:
    def asks(facts: Facts) -> Iterator[Arguments]:
        for product in facts.products:
            yield {"product_key": product, **more}

    return asks


def _product_inbox(facts: Facts) -> Iterator[Arguments]:
    for product in facts.products:
        for name in sorted({agent.name for agent in facts.agents}):
            yield {"product_key": product, "agent_name": name, "limit": 100, "include_bodies": True}


def _contacts(facts: Facts) -> Iterator[Arguments]:
    return _each_agent({"limit": _ALL})(facts)


ASKS: Mapping[str, Asks] = {
    "health_check": _once,
    "whois": _each_agent({"commit_limit": 50}),
    "list_door_names": _once,
    "list_agents": _each_project(include_retired=True, limit=_ALL),
    "list_contacts": _contacts,
    "held_mail": _each_agent({"limit": _ALL}, {"limit": _ALL, "direction": "outbound"}),
    "contact_requests": _contacts,
    "owed_acknowledgements": _each_project(min_age_seconds=0, limit=_ALL),
    "fetch_inbox": _inbox,
    "fetch_topic": _topic,
    "read_mail": _mail,
    "list_threads": _threads,
    "message_status": _status,
    "check_file_reservation_conflicts": _conflicts,
    "search_messages": _search,
    "summarize_thread": _summary,
    "search_messages_product": _product(query=_QUERIES[0], limit=100),
    "fetch_inbox_product": _product_inbox,
    "summarize_thread_product": _product(thread_id="plan", include_examples=True),
}

NOT_ASKED: Mapping[str, str] = {
    "fetch_inbox_events": "feeds are not rebuilt",
    "hook_wait": "as wait_for_messages",
    "wait_for_messages": "its cursors are a feed's; its items are asked for by fetch_inbox",
    "list_guard_events": "the guard's log is not rebuilt",
    "list_doors": "which are open is in settings",
    "list_issued_tokens": "issued tokens are not rebuilt",
    "list_join_codes": "join codes are not rebuilt",
    "list_window_identities": "windows are not rebuilt",
    "fetch_summary": "stored summaries are not rebuilt",
}
"""Tools that only read, with the reason why their answers may differ."""
