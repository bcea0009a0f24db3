"""`make page-costs`: a visitor signs in, every page of the table is among those that it asks, and bounds are kept."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.pages.__main__ import (
    CLICKED,
    SETTINGS,
    click_figures,
    page_figures,
    page_lines,
    paint_figures,
    percentile,
    walk,
)
from benchmarks.pages.clicks import Person, Window
from benchmarks.pages.content import Place, furnish, places
from benchmarks.pages.paints import FLOOR
from benchmarks.pages.visitor import Visit, Visitor, sent_with_assets
from benchmarks.processes import Server, start_ours
from benchmarks.report import Figure
from benchmarks.scenarios import call
from benchmarks.store_maker import BUSY, SMALLEST, make_store
from benchmarks.wire import Refused, Rpc
from mcp_agent_mail.web.assets import asset_set
from mcp_agent_mail.web.routes import ROUTES

_LOOK_S = 0.02
_FONTS_BYTES = sum(len(one.content) for name, one in asset_set().assets.items() if name.endswith(".woff2"))


def _visit(took_ms: float, sent_bytes: int = 1_000) -> Visit:
    return Visit(
        status=200, took_ms=took_ms, sent_bytes=sent_bytes, coding="gzip", media_type="text/html", body=b"<p>" * 1_000
    )


def _missed(figures: Sequence[Figure]) -> set[str]:
    return {figure.name for figure in figures if figure.verdict == "missed"}


def test_a_page_misses_what_it_is_over_and_nothing_else() -> None:
    quick = [_visit(10.0)] * 38
    slow = [*quick, _visit(101.0), _visit(101.0), _visit(101.0)]

    assert _missed(page_figures("a", quick, 200_000)) == set()
    assert _missed(page_figures("a", slow, 1_000)) == {"a: p95"}
    assert _missed(page_figures("a", [*quick, _visit(1.0, 60_001)], 200_001)) == {"a: next visit", "a: first visit"}


def test_a_paint_is_late_beyond_half_a_second() -> None:
    assert _missed(paint_figures({"a": {"first": [499.0] * 3, "next": [501.0] * 3}})) == {
        "a: largest paint, next visit"
    }


def test_the_paint_of_a_bare_line_is_reported_alone() -> None:
    figures = paint_figures({FLOOR.name: {"first": [501.0] * 3}})

    assert [(figure.name, figure.target) for figure in figures] == [
        ("a bare line of text: largest paint, first visit", None)
    ]


def test_a_loss_beyond_the_spread_is_a_loss() -> None:
    def windows(factor: float) -> list[dict[str, Window]]:
        return [
            {
                "without": Window(per_second=100.0, p50_ms=5.0 + number / 10, p95_ms=9.0, cpu_us=900.0, clicks=0),
                "with": Window(per_second=100.0, p50_ms=5.0 * factor, p95_ms=9.0, cpu_us=900.0, clicks=6),
            }
            for number in range(6)
        ]

    assert {figure.verdict for figure in click_figures(windows(1.0))} == {"met", ""}
    assert len(_missed(click_figures(windows(1.5)))) == 1


def test_the_slowest_page_is_told_first() -> None:
    told = page_lines({"quick": [_visit(1.0)], "slow": [_visit(9.0)]}, {"quick": 5_000, "slow": 5_000}).splitlines()

    assert [line.split()[0] for line in told] == ["page", "slow", "quick"]
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    root = tmp_path_factory.mktemp("pages") / "store"
    make_store(root / "mail.sqlite3", SMALLEST)
    server = start_ours(root, set(), Rpc(), **SETTINGS)
    try:
        yield server, root
    finally:
        server.stop()


def test_every_page_of_a_store_that_is_furnished_is_walked(
    served: tuple[Server, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"AGENTS": 200, "LETTERS": 120, "_LEASES": 20, "_TO_HUMAN": 20, "_SCREENED": 3}.items():
        monkeypatch.setattr(f"benchmarks.pages.content.{name}", value)
    server, root = served
    sent = furnish(server)
    with closing(Visitor(server.port)) as visitor:
        visitor.sign_in(server, root)

        shown = places(visitor, call(server, "ensure_project", human_key=BUSY)["slug"], sent, SMALLEST)
        seen = walk(visitor, shown, 1)

    unasked = {route.path for route in ROUTES if route.get is not None} - set(seen)
    assert unasked == {"/mail/events", "/mail/sign-in", "/mail/{project}/attachments/{sha256}"}
    assert set(CLICKED) <= set(seen)
    assert b"Human" in seen["/mail"][0].body
    assert seen["/mail"][0].coding == "gzip"
    person = Person(server, root, shown[:1])
    with person.at_work():
        while not person.clicks:
            time.sleep(_LOOK_S)
    assert person.failure == ""


def test_a_first_visit_weighs_the_page_with_all_that_it_loads(served: tuple[Server, Path]) -> None:
    server, _ = served
    with closing(Visitor(server.port)) as visitor:
        page = visitor.visit("/mail")

    whole = sent_with_assets(server.port, page)

    assert page.sent_bytes < len(page.body)
    assert whole - page.sent_bytes > _FONTS_BYTES
    assert sent_with_assets(server.port, _visit(1.0)) == 1_000


def test_what_a_visitor_cannot_read_is_refused(served: tuple[Server, Path]) -> None:
    server, _ = served

    with closing(Visitor(server.port)) as visitor, pytest.raises(Refused, match="nowhere"):
        walk(visitor, [Place(name="a", paths=["/mail/nowhere/at/all"])], 1)
