"""Paths and their classes: which is found for what, and that the page about HTTP says the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcp_agent_mail.server.edge.paths import RULES, AcceptedBearers, PathClass, PathRule, PathTable
from mcp_agent_mail.server.edge.rates import RateClass

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "http.md"
TABLE = PathTable(["/mcp", "/mcp/"], {"/metrics": PathClass.METRICS, "/rest/": PathClass.REST})

_METHODS = {None: "as the path has them"}
_ACCEPTED = {
    AcceptedBearers.NONE: "none",
    AcceptedBearers.ANY: "all",
    AcceptedBearers.NOT_OPERATORS: "all but the operator's own token",
}


@pytest.mark.parametrize(
    ("path", "path_class"),
    [
        ("/mcp", PathClass.MCP),
        ("/mcp/", PathClass.MCP),
        ("/metrics", PathClass.METRICS),
        ("/rest/", PathClass.REST),
        ("/rest/v1/agents/x", PathClass.REST),
        ("/rpc/send_message", PathClass.RPC),
        ("/rpc/", PathClass.RPC),
        ("/health/liveness", PathClass.PROBE),
        ("/health/readiness", PathClass.PROBE),
        ("/.well-known/oauth-protected-resource/mcp", PathClass.DISCOVERY),
        ("/", None),
        ("", None),
        ("/rpc", None),
        ("/rest", None),
        ("/mcp/x", None),
        ("/metrics/", None),
        ("/health/", None),
        ("/health/liveness/", None),
        ("//mcp", None),
        ("/x/rpc/send_message", None),
    ],
)
def test_a_path_is_found_whole_or_by_its_first_part(path: str, path_class: PathClass | None) -> None:
    assert TABLE.find(path) is path_class


def test_every_class_has_a_rule() -> None:
    assert set(RULES) == set(PathClass)


def test_who_shows_nothing_finds_no_mail() -> None:
    open_to_all = {one for one, rule in RULES.items() if rule.accepts is AcceptedBearers.NONE}

    assert open_to_all == {PathClass.PROBE, PathClass.DISCOVERY, PathClass.ASSET}
    assert {one for one, rule in RULES.items() if not rule.holds_mail} == open_to_all


def _row(rule: PathRule) -> tuple[str, ...]:
    """As the page has it, without the class and its paths. What is counted where it is run may be either."""
    return (
        ", ".join(rule.methods) if rule.methods else _METHODS[None],
        "anybody" if rule.accepts is AcceptedBearers.NONE else rule.least.word,
        _ACCEPTED[rule.accepts],
        "yes" if rule.has_cors else "no",
        "any" if rule.from_any_host else "checked",
        *([] if rule.rate is None else [rule.rate.value]),
    )


def test_the_page_about_http_has_each_class_as_it_is() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Path classes")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| `(\w+)` \| (.+) \|$", section)
    shown = {name: tuple(cell.strip() for cell in rest.split(" | "))[1:] for name, rest in rows}

    assert list(shown) == [one.value for one in PathClass]
    for one, rule in RULES.items():
        assert shown[one.value][: len(_row(rule))] == _row(rule), one
        if rule.rate is None:
            assert shown[one.value][5] == ("none" if one is PathClass.PROBE else "as what is called"), one
    assert {rule.rate for rule in RULES.values()} - {None} == {RateClass.OTHERS, RateClass.TOOLS}


def test_where_mcp_has_a_path_of_the_pages_it_is_mcps() -> None:
    table = PathTable(["/mail", "/mail/"], {"/mail": PathClass.PAGE, "/mail/": PathClass.PAGE})

    found = [table.find(path) for path in ("/mail", "/mail/", "/mail/now")]

    assert found == [PathClass.MCP, PathClass.MCP, PathClass.PAGE]
