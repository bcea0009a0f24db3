"""What the pages tell people to run is there to be run, and nothing of templates and styles is there in vain."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import mcp_agent_mail.web
from tests.cli.command_line import am

_PACKAGE = Path(mcp_agent_mail.web.__file__).parent
_IN_TEMPLATES = re.compile(r"<code>am (.*?)</code>", re.DOTALL)
_FILLED_IN = re.compile(r"{{.*?}}|{%.*?%}")
_IMPORT = re.compile(r"""{%-?\s*from "[^"]+" import ([^%]*?)-?%}""")
_QUOTED = re.compile(r"""\"([^"\n]*)\"|'([^'\n]*)'|`([^`\n]*)`""")
_DOCSTRING = re.compile(r'"""[\s\S]*?"""')
_NO_SELECTOR = re.compile(r"""/\*[\s\S]*?\*/|url\([^)]*\)|"[^"]*"|(?<=\{)[^{}]*(?=\})""")
_IN_HINTS = re.compile(r"`am ([^`]*)`")


def _left_out(found: re.Match[str]) -> str:
    return "NAME" if found[0].startswith("{{") else ""


def _commands() -> list[str]:
    """As the templates have them with all that they may say, and as our own hints have them."""
    found = set[str]()
    for path in _PACKAGE.rglob("*.html"):
        found |= {_FILLED_IN.sub(_left_out, one) for one in _IN_TEMPLATES.findall(path.read_text("utf-8"))}
    for path in _PACKAGE.rglob("*.py"):
        found |= {one for one in _IN_HINTS.findall(path.read_text("utf-8")) if one != "…"}
    return sorted(html.unescape(one) for one in found)


def test_commands_are_told() -> None:
    sent = 'mail send --project NAME --from NAME --to NAME --attach NAME "Hello"'
    assert {"setup", "web", "projects ensure", sent} <= set(_commands())


@pytest.mark.parametrize("command", _commands())
def test_each_command_and_each_of_its_options_is_there(command: str, tmp_path: Path) -> None:
    words = command.split()
    called = [one for one in words if one.islower() and not one.startswith("-")]

    answer = am(*called, "--help", home=tmp_path)

    assert answer.returncode == 0, answer.stderr
    assert [one for one in words if one.startswith("-") and one not in answer.stdout] == []


def _unused_imports(template: str) -> list[str]:
    names = [name.strip() for found in _IMPORT.findall(template) for name in found.split(",")]
    rest = _IMPORT.sub("", template)
    return [name for name in names if not re.search(rf"\b{name.split()[-1]}\b", rest)]


def _quoted() -> str:
    """All that stands between quotes in templates, scripts and Python of the pages: there alone a class is named."""
    texts = (path.read_text("utf-8") for path in _PACKAGE.rglob("*") if path.suffix in (".html", ".js", ".py"))
    found = (_QUOTED.findall(_DOCSTRING.sub("", text)) for text in texts)
    return " ".join("".join(groups) for each in found for groups in each)


def _unused_classes(style: str, quoted: str) -> list[str]:
    """`tone-bad` is used where `tone-{` begins a class of which the rest is filled in."""
    used = set(re.findall(r"[A-Za-z][\w-]*", quoted))
    begun = tuple(re.findall(r"([A-Za-z][\w-]*-)\$?\{", quoted))
    classes = sorted(set(re.findall(r"\.([A-Za-z][\w-]*)", _NO_SELECTOR.sub("", style))))
    return [one for one in classes if one not in used and not one.startswith(begun)]


def test_every_macro_that_a_template_imports_is_used_there() -> None:
    paths = sorted(_PACKAGE.rglob("*.html"))

    assert {path.name: _unused_imports(path.read_text("utf-8")) for path in paths} == {path.name: [] for path in paths}
    assert _unused_imports('{% from "parts.html" import tile, when, csrf as form %}{{ when(1) }}{{ csrf }}') == [
        "tile",
        "csrf as form",
    ]


def test_every_class_that_is_styled_is_named_somewhere() -> None:
    quoted = _quoted()
    paths = sorted(_PACKAGE.rglob("*.css"))

    assert {path.name: _unused_classes(path.read_text("utf-8"), quoted) for path in paths} == {
        path.name: [] for path in paths
    }
    style = "/* .no */ @media (x) { .asking .row { a: url(b.png) } .tone-bad::before { content: '.c' } }"
    assert _unused_classes(style, "row tone-{{ one }}") == ["asking"]


@pytest.mark.parametrize(
    ("template", "regions"),
    [
        ("mailbox.html", {"mail", "onward"}),
        ("agents.html", {"total", "agents"}),
        ("agent.html", {"head", "counts", "leases", "sent", "commits"}),
        ("projects.html", {"projects"}),
        ("reservations.html", {"conflicts", "reservations", "waiting", "tree"}),
    ],
)
def test_what_changes_on_a_page_follows(template: str, regions: set[str]) -> None:
    found = re.findall(r'data-live="([^"]+)"', (_PACKAGE / "templates" / template).read_text("utf-8"))

    assert sorted(found) == sorted(regions)
