"""What the formats save on typical results: the promises of the reference page, and that it tells the counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from toon_format import decode

from mcp_agent_mail.server.rendering.formats import OutputFormat
from mcp_agent_mail.server.rendering.toon import as_tables
from tests.server.rendering.formats_page import MAKE, PAGE, counts, page, written_as
from tests.server.rendering.recorded_results import LINES, LISTS, record, recorded

COUNTED = counts()
RESULTS = recorded()


def _items(name: str) -> int:
    result = RESULTS[name]
    lists = [result] if isinstance(result, list) else [one for one in result.values() if isinstance(one, list)]
    return sum(len(one) for one in lists)


def test_there_are_twelve_typical_results() -> None:
    assert len(RESULTS) == 12
    assert "amt_" not in json.dumps(RESULTS)


def _shape(value: Any) -> Any:
    """Its keys in their order, and the kinds of what stands there."""
    if isinstance(value, dict):
        return [(key, _shape(one)) for key, one in value.items()]
    if isinstance(value, list):
        return [_shape(one) for one in value]
    return type(value).__name__


async def test_the_recording_has_the_form_that_these_calls_give_today(tmp_path: Path) -> None:
    live = await record(tmp_path)

    for name, result in live.items():
        assert _shape(RESULTS[name]) == _shape(result), "run python -m tests.server.rendering.recorded_results"
    assert list(RESULTS) == list(live)


@pytest.mark.parametrize("name", RESULTS)
def test_toon_never_costs_more_than_json(name: str) -> None:
    assert COUNTED[name].toon <= COUNTED[name].json


@pytest.mark.parametrize("name", LISTS)
def test_toon_of_a_list_of_five_without_bodies_costs_at_most_seven_tenths(name: str) -> None:
    assert _items(name) >= 5
    assert COUNTED[name].toon <= 0.7 * COUNTED[name].json


@pytest.mark.parametrize("name", LINES)
def test_markdown_of_a_list_is_one_line_an_item_and_costs_at_most_half(name: str) -> None:
    text = written_as(name, RESULTS[name], OutputFormat.MD)

    assert sum(line.startswith("- ") and not line.startswith("- **total") for line in text.splitlines()) >= _items(name)
    assert "\n###" not in text
    assert COUNTED[name].md <= 0.5 * COUNTED[name].json


@pytest.mark.parametrize("name", RESULTS)
def test_toon_of_each_result_is_read_back(name: str) -> None:
    value = json.loads(written_as(name, RESULTS[name], OutputFormat.TOON))

    if isinstance(value, dict) and value.get("format") == "toon":
        assert decode(value["data"]) == as_tables(RESULTS[name])
    else:
        assert value == RESULTS[name]


def test_the_page_tells_these_counts() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(COUNTED), f"run {MAKE}"
