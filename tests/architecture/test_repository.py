"""What the repository as a whole promises: nothing of one machine in it, locks that fit, a wheel that is complete."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.architecture.trees import ROOT, parse

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_SHORTEST_TELLING_PATH = 5


def _files(root: Path) -> Iterator[Path]:
    """What Git tracks, or would: new files that are not ignored too."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (root / name).is_file():
            yield root / name


def _traces(root: Path, places: set[str]) -> list[str]:
    """Files that name a package index or one of the places (folders of one machine)."""
    index = r"--(extra-)?index-url|--find-links|https?://[^\s\"']+(/simple/?|\.whl|\.tgz|\.tar\.gz)(?=[\s\"'#)]|$)"
    telling = "|".join([index, *(rf"{re.escape(place)}(?![\w-])" for place in sorted(places))])
    found = []
    for path in _files(root):
        text = path.read_bytes().decode("utf-8", "replace")
        if path.name != Path(__file__).name and (match := re.search(telling, text)):
            found.append(f"{path.relative_to(root)}: {match[0]}")
    return found


def _places() -> set[str]:
    """Folders that tell where this checkout and its Python are, and hosts that packages come from here."""
    places = {str(ROOT), sys.prefix, sys.base_prefix, str(Path.home())}
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_FIND_LINKS"):
        places |= set(os.environ.get(name, "").split())
    return {place.rstrip("/") for place in places if len(place) >= _SHORTEST_TELLING_PATH}


def test_no_index_address_and_no_path_of_this_machine_is_in_the_repository() -> None:
    assert _traces(ROOT, _places()) == []


@pytest.mark.parametrize(
    "line", ["--index-url https://x/simple", "see /srv/mine/mail/src", "from https://index.example/a/x-1.0-py3.whl"]
)
def test_a_trace_of_one_machine_is_found(line: str, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "notes.md").write_text(f"fine\n{line}\n")
    (tmp_path / "other.md").write_text("/srv/mine/mailbox\n")

    assert [trace.partition(":")[0] for trace in _traces(tmp_path, {"/srv/mine/mail"})] == ["notes.md"]


# --- Locks ------------------------------------------------------------------------------------------------------------


def _name_of(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match, requirement
    return match[0].lower().replace("_", "-").replace(".", "-")


def _locked(group: str) -> dict[str, str]:
    """Name to version; every entry must have a hash."""
    entries: dict[str, str] = {}
    for block in re.split(r"\n(?=\S)", (ROOT / "requirements" / f"{group}.txt").read_text(encoding="utf-8")):
        name, _, rest = block.partition("==")
        assert "--hash=sha256:" in rest, f"{group}: {name} has no hash"
        entries[_name_of(name)] = rest.split()[0]
    return entries


def _wanted(group: str) -> set[str]:
    groups, dependencies = PROJECT["dependency-groups"], PROJECT["project"]["dependencies"]
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = {
        "main": [*dependencies, *groups["build"]],
        "dev": [*dependencies, *groups["build"], *groups["dev"]],
        "testers": groups["testers"],
        "hooks": groups["hooks"],
        "tokens": groups["tokens"],
        "extras": [*dependencies, *extras["otel"]],
    }
    return {_name_of(requirement) for requirement in wanted[group]}


@pytest.mark.parametrize("group", ["main", "dev", "testers", "hooks", "tokens", "extras"])
def test_every_dependency_is_locked_with_hashes(group: str) -> None:
    assert _wanted(group) - _locked(group).keys() == set(), "run `make lock`"


def test_what_tests_run_is_what_serves() -> None:
    main, dev = _locked("main"), _locked("dev")

    assert {name: dev.get(name) for name in main} == main


def test_every_dependency_says_what_it_is_for() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = text[text.index("\ndependencies = [") : text.index("\n]", text.index("\ndependencies = ["))]

    lines = [line.strip() for line in block.splitlines()[2:]]
    without = [line for above, line in pairwise(lines) if not line.startswith("#") and not above.startswith("#")]
    assert without == []


_NOT_IMPORTED = {
    "httptools": "uvicorn loads it by name",
}
_MODULE_OF = {"python-decouple": "decouple", "pillow": "PIL", "markdown-it-py": "markdown_it"}


def test_every_dependency_is_used() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    names = {_name_of(requirement) for requirement in PROJECT["project"]["dependencies"]}

    modules = {name: _MODULE_OF.get(name, name.replace("-", "_")) for name in names - _NOT_IMPORTED.keys()}
    unused = [
        name
        for name, module in modules.items()
        if not re.search(rf"^\s*(import|from) {module}\b", sources, re.MULTILINE)
    ]

    assert unused == []


# --- The wheel and the pages ------------------------------------------------------------------------------------------


def test_the_wheel_holds_the_schema_the_hooks_and_the_type_marker(tmp_path: Path) -> None:
    code = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"

    built = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )

    held = set(zipfile.ZipFile(tmp_path / built.stdout.split()[-1]).namelist())
    schema = {f"mcp_agent_mail/store/schema/{path.name}" for path in (ROOT / "src").rglob("schema/*.sql")}
    hooks = {f"mcp_agent_mail/hooks/{path.name}" for path in (ROOT / "hooks").iterdir()}
    plugin = "mcp_agent_mail/cli/agentmail/plugin"
    of_plugin = {f"{plugin}/.claude-plugin/marketplace.json", f"{plugin}/agentmail/hooks/hooks.json"}
    assert schema | hooks | of_plugin | {"mcp_agent_mail/py.typed"} <= held
    assert schema
    assert hooks


def test_the_pages_that_every_project_needs_are_there() -> None:
    pages = ["README.md", "LICENSE", "TODO.md", ".env.example", "docs/changelog.md", "docs/architecture.md"]
    pages += ["docs/concepts/glossary.md", "docs/tutorial", "docs/how-to", "docs/reference", "docs/adr"]

    assert [page for page in pages if not (ROOT / page).exists()] == []


def test_every_decision_has_a_number_of_its_own() -> None:
    numbers = [path.name[:4] for path in (ROOT / "docs" / "adr").glob("[0-9]*.md")]

    assert len(numbers) == len(set(numbers))


def test_open_ends_stand_in_one_place_only() -> None:
    marks = re.compile(r"#.*\b(TO" r"DO|FIX" r"ME)\b")
    sources = [path for top in ("src", "tests", "benchmarks") for path in (ROOT / top).rglob("*.py")]

    assert [path for path in sources if marks.search(path.read_text(encoding="utf-8"))] == []


def _links(page: Path) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith(("#", "mailto:")):
            yield target.partition("#")[0]


def test_links_between_pages_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "TODO.md", *(ROOT / "docs").rglob("*.md")]

    dead = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in _links(page)
        if not (page.parent / link).exists()
    ]

    assert dead == []


def test_the_index_of_decisions_names_each_once_and_in_order() -> None:
    folder = ROOT / "docs" / "adr"
    named = re.findall(r"\((\d{4}-[^)]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8"))

    assert named == sorted(path.name for path in folder.glob("[0-9]*.md"))


def test_the_glossary_is_in_order_and_names_each_word_once() -> None:
    text = (ROOT / "docs" / "concepts" / "glossary.md").read_text(encoding="utf-8")
    words = [word.casefold() for word in re.findall(r"(?m)^\| \*\*(.+?)\*\*", text)]

    assert words == sorted(set(words))


# --- The map of the code ----------------------------------------------------------------------------------------------

_SOURCES = ROOT / "src" / "mcp_agent_mail"


def _unknown_places(text: str, source: Path) -> list[str]:
    """`path.py` and `path.py:Class.method` between backticks that are not there, below `source` or the checkout."""
    missing = []
    for path, names in re.findall(r"`([\w/]+\.(?:py|sql))(?::([\w.]+))?`", text):
        file = next((root / path for root in (source, ROOT) if (root / path).is_file()), None)
        if file is None or not _has(parse(file) if names else None, names):
            missing.append(f"{path}:{names}" if names else path)
    return missing


def _has(tree: ast.AST | None, dotted: str) -> bool:
    """Does the class or function stand there? None with no name: a file is all that was asked for."""
    node = tree
    for name in dotted.split(".") if dotted else ():
        below = ast.iter_child_nodes(node) if node is not None else iter(())
        node = next((child for child in below if getattr(child, "name", None) == name), None)
        if node is None:
            return False
    return True


@pytest.mark.parametrize("page", ["architecture.md", "development/first-change.md", "development/where.md"])
def test_every_place_that_a_page_about_the_code_names_is_there(page: str) -> None:
    assert _unknown_places((ROOT / "docs" / page).read_text(encoding="utf-8"), _SOURCES) == []


def test_a_place_that_is_not_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "mail.py").write_text("class Inbox:\n    def read(self): ...\n")

    text = "`mail.py` `mail.py:Inbox.read` `mail.py:Inbox.gone` `gone.py`"

    assert _unknown_places(text, tmp_path) == ["mail.py:Inbox.gone", "gone.py"]
