"""What an agent is told after a compaction: short, the most important first, and nothing faked."""

from __future__ import annotations

from mcp_agent_mail.clients.hook.reprime_text import MAX_BYTES, reprime_lines
from mcp_agent_mail.clients.hook.text import fit
from tests.clients.golden_outputs import REPRIME

WHO = 'project_key="/code/app", agent_name="BlueLake", '


def test_it_says_who_what_and_whom() -> None:
    assert reprime_lines(REPRIME, "BlueLake", "/code/app")[1:] == [
        "> project: /code/app",
        f"Your mail: fetch_inbox({WHO}unread_only=true, include_bodies=true).",
        "You hold 1 reservation, for so long:",
        "> src/** until 2100-01-01 00:00 UTC",
        f"To be acknowledged still (1), by acknowledge_message({WHO}message_id=…):",
        "#7 from RedStone",
        "> subject: Please confirm",
        "Up now: RedStone, GreenHill.",
    ]


def test_what_is_more_is_counted() -> None:
    full = {
        **REPRIME,
        "peers": [f"Peer{number}" for number in range(10)],
        "peers_more": 5,
        "leases": [{"path_pattern": f"src/{number}", "expires_ts": "2100-01-01T00:00:00Z"} for number in range(10)],
        "leases_more": 3,
        "to_acknowledge": [{"id": number, "from": "RedStone", "subject": "s"} for number in range(10)],
        "to_acknowledge_more": 2,
    }

    lines = reprime_lines(full, "BlueLake", "/code/app")

    assert "You hold 13 reservations, each for so long:" in lines
    assert "8 more reservations." in lines
    assert "1 more reservation." in reprime_lines({**full, "leases": REPRIME["leases"], "leases_more": 1})
    assert f"To be acknowledged still (12), by acknowledge_message({WHO}message_id=…):" in lines
    assert lines[-1].endswith("Peer9 and 5 more.")


def test_an_agent_with_nothing_hears_who_it_is() -> None:
    bare = {**REPRIME, "leases": [], "to_acknowledge": [], "peers": []}

    assert len(reprime_lines(bare, says_how=False)) == len(reprime_lines({**bare, "unread": 0})) == 2


def test_the_longest_one_is_cut_at_a_line() -> None:
    long = "x" * 500
    told = {
        **REPRIME,
        "project": long,
        "leases": [{"path_pattern": long, "expires_ts": long}] * 10,
        "to_acknowledge": [{"id": 10**14, "from": "x" * 64, "subject": long}] * 10,
        "peers": ["x" * 64] * 10,
    }

    lines = reprime_lines(told, "x" * 64, "/" + "p" * 99)
    words = fit(lines, MAX_BYTES)

    assert len(words.encode()) <= MAX_BYTES
    assert words.split("\n") == lines[: len(words.split("\n"))]


def test_what_is_of_another_shape_is_left_out() -> None:
    odd = {"agent": 3, "leases": [3, None], "to_acknowledge": "x", "peers": [3, {}], "unread": "many"}

    assert reprime_lines(odd)[0].startswith("Agent mail: you are an unnamed sender, 0 unread.")
    assert len(reprime_lines(odd)) == 2
