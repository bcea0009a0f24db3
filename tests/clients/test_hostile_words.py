"""Whatever peers write: each output parses, is short, and has their words on lines that begin with `> ` alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.hook import text
from mcp_agent_mail.clients.hook.guard import refusal_lines
from mcp_agent_mail.clients.hook.notices import refused_lines
from mcp_agent_mail.clients.hook.output import HookOutput, encode
from mcp_agent_mail.clients.hook.reprime_text import MAX_BYTES, reprime_lines
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.running_server import Refused
from mcp_agent_mail.domain.guard.decision import GuardedLease, HeldPath
from mcp_agent_mail.guard import report
from mcp_agent_mail.guard.lease_source import LeaseAnswer
from tests.clients.golden_outputs import AGENT
from tests.clients.hook_server import message
from tests.clients.hostile_words import COUNT, MARK, hostile_words

WORDS = hostile_words()
_KINDS = {"inject": "inject", "continue": "continue", "refuse": "refuse", "say": "say"}


def _slots() -> list[tuple[str, str, str, str]]:
    """Client, event, encoder and kind of everything that is ever printed with a text."""
    return [
        (client, name, event["output"], kind)
        for client in CLIENTS
        for name, event in read_contract(client)["events"].items()
        for kind in event["can"]
        if kind in _KINDS
    ]


def _mail(words: str) -> list[str]:
    peers = {"subject": words, "first_line": words}
    told = [
        message(1, **peers),
        message(2, **{**peers, "from": words}),
        message(3, **{**peers, "importance": words, "age_s": words, "id": words, "verified": words}),
    ]
    return text.mail_lines(AGENT, {"messages": told, "unread": words, "more": words})


def _stop(words: str) -> list[str]:
    return text.stop_lines({"id": words, "from": words, "verified": words, "subject": words, "text": words})


def _reprime(words: str) -> list[str]:
    return reprime_lines(
        {
            "agent": words,
            "project": f"/code/{words}",
            "peers": [words, "RedStone"],
            "peers_more": words,
            "leases": [{"path_pattern": words, "expires_ts": words}] * 9,
            "unread": words,
            "to_acknowledge": [{"id": words, "from": words, "subject": words}] * 9,
        }
    )


def _refusal(words: str) -> list[str]:
    lease = GuardedLease(
        id=1,
        agent=words,
        path_pattern=words,
        is_folder=False,
        ignore_case=False,
        exclusive=True,
        reason=words,
        expires_ts=Micros(4_102_444_800 * SECOND),
    )
    held = [HeldPath(path=words, holding=lease, is_own_too=False)] * 30
    answer = LeaseAnswer(
        agent=words, held=held, held_count=30, source="the server", is_agent_known=False, nearest=[words]
    )
    facts = report.ReportContext(deed="edit", project=words, answer=answer, now=Micros(0), shown=lambda path: path)
    return refusal_lines(facts)


def _no_mail(words: str) -> list[str]:
    """A server's refusal names projects, and whoever reaches the server has chosen what they are called."""
    refused = Refused("NOT_FOUND", f"No agent named 'x' in {words}.", f"x is an agent of /{words} and {words}.")
    return refused_lines(refused, words, f"/code/{words}")


_MAKERS = {"mail": _mail, "stop": _stop, "reprime": _reprime, "refusal": _refusal, "no mail": _no_mail}


def _texts(printed: HookOutput) -> Iterator[str]:
    """Everything of an output that a model may read."""
    if printed.stderr:
        yield printed.stderr
    if printed.stdout:
        yield from _strings(json.loads(printed.stdout))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            assert MARK not in key
            yield from _strings(one)


def test_there_are_three_hundred() -> None:
    assert len(WORDS) == len(set(WORDS)) == COUNT
    assert all(MARK in words for words in WORDS)


@pytest.mark.parametrize("about", _MAKERS)
def test_no_words_of_a_peer_stand_outside_a_quoted_line(about: str) -> None:
    told, carried = Counter[tuple[str, str, str]](), 0
    for words in WORDS:
        injected = text.fit(_MAKERS[about](words), MAX_BYTES if about == "reprime" else text.MAX_BYTES)
        carried += MARK in injected
        for client, event, output, kind in _slots():
            for shown in _texts(encode(output, event, kind, injected)):
                lines = shown.split("\n")
                assert len(shown.rstrip("\n").encode()) <= text.MAX_BYTES
                assert [line for line in lines if MARK in line and not line.startswith(text.QUOTE)] == []
                # What anything else might take for the end of a line is none of these texts'.
                assert (
                    shown.splitlines() == [line for line in lines if line or shown.strip()][: len(shown.splitlines())]
                )
                assert not any(mark in shown for mark in ("<", "```", "~~~", "\uff1c"))
                told[client, event, kind] += MARK in shown

    # Some words are cut off before their mark; all that are not come out of each slot of each client.
    assert carried >= COUNT - 10
    assert told == {(client, event, kind): carried for client, event, _, kind in _slots()}


@pytest.mark.parametrize("about", _MAKERS)
def test_what_is_ours_is_the_same_whatever_they_write(about: str) -> None:
    """No field of ours takes its value from their words: our lines differ in nothing."""
    ours = {tuple(line for line in _MAKERS[about](words) if not line.startswith(text.QUOTE)) for words in WORDS}

    assert len(ours) == 1


@pytest.mark.parametrize("words", WORDS, ids=range(COUNT))
def test_a_folded_text_is_one_printable_line(words: str) -> None:
    folded = text.fold(words, 200)

    assert len(folded.encode()) <= 200
    assert folded == "" or folded.splitlines() == [folded]
    assert all(character.isprintable() for character in folded)
