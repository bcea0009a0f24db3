"""Writes the page of what the formats cost, from recorded results: `python -m tests.server.rendering.formats_page`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_agent_mail.server.rendering.formats import Output, OutputFormat
from mcp_agent_mail.server.rendering.wire import written
from tests.server.rendering.recorded_results import LINES, LISTS, recorded

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "formats.md"
MAKE = "python -m tests.server.rendering.formats_page"

_HEAD = f"""\
# What the output formats cost

<!-- Made by `{MAKE}` from tests/golden/recorded_results.json; a test compares. -->

Characters of the text block of typical results of a project with six agents, recorded from real calls; `json` is
compact JSON. How a connection asks for a format: [profiles](profiles.md).

| result | json | toon | of json | md | of json |
|---|--:|--:|--:|--:|--:|
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Characters of one result in each form."""

    json: int
    toon: int
    md: int


def written_as(name: str, result: Any, form: OutputFormat) -> str:
    """The text block of a recorded result."""
    return written(name, result, Output(format=form, source="query"))[1]


def counts() -> dict[str, Count]:
    """By recorded result, in the order of the recording."""
    return {
        name: Count(**{form.value: len(written_as(name, result, form)) for form in OutputFormat})
        for name, result in recorded().items()
    }


def most(counted: dict[str, Count], names: tuple[str, ...], form: str) -> float:
    """The largest share of JSON's characters among these results."""
    return max(float(getattr(counted[name], form)) / counted[name].json for name in names)


def page(counted: dict[str, Count]) -> str:
    """The whole page."""
    rows = "".join(
        f"| {name} | {one.json:,} | {one.toon:,} | {one.toon / one.json:.2f} | {one.md:,} | {one.md / one.json:.2f} |\n"
        for name, one in counted.items()
    )
    return (
        f"{_HEAD}{rows}\n"
        f"- `toon` costs at most {most(counted, tuple(counted), 'toon'):.2f} of `json`: where its envelope would be "
        "longer, the plain JSON result is given.\n"
        f"- On lists without bodies ({', '.join(LISTS)}) `toon` costs at most {most(counted, LISTS, 'toon'):.2f}.\n"
        f"- `md` is one line an item for {', '.join(LINES)}, and costs at most {most(counted, LINES, 'md'):.2f}.\n"
    )


def main() -> None:
    PAGE.write_text(page(counts()), encoding="utf-8")


if __name__ == "__main__":
    main()
