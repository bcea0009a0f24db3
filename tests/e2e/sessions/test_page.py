"""The page of what sessions cost."""

from __future__ import annotations

from tests.e2e.sessions.measure import AFTER, MOST, before, kept, share
from tests.e2e.sessions.page import MAKE, PAGE, page


def test_the_page_tells_the_kept_figures() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"run {MAKE}"


def test_the_figures_that_are_kept_hold_the_promise() -> None:
    after = kept(AFTER)

    assert after.keys() == before().keys()
    for name, was in before().items():
        assert share(after[name], was) <= MOST
        assert after[name].most_extra_turns <= 1
