"""README, typed line by line by somebody who has nothing but Python, Git and make."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.blocks import ROOT, blocks_of
from tests.pages.reader import Reader

README = ROOT / "README.md"


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


def test_every_line_of_the_readme_does_what_it_says(reader: Reader) -> None:
    with reader:
        for language, text in blocks_of(README, "sh", "python"):
            if reader.says:
                reader.rests()
            if language == "sh":
                reader.types(text)
            else:
                reader.says += reader.runs_python(text)

    assert '"error"' not in reader.says
    assert "server\tup, well" in reader.says
    assert "claude mcp add --transport http agent-mail" in reader.says
    for told in ("Who takes the parser?", "Tabs or spaces?", "holds ['src/parser/**']", "make serve"):
        assert told in reader.says
    assert "does not see\tgit commit --no-verify" in reader.says
    # The archive's own history, not that of the folder where the reader stands.
    assert "Outbox-Seq: " in reader.says
    assert (reader.home / ".local" / "bin" / "am").is_symlink()


def test_the_readme_begins_with_the_clone_and_one_picture() -> None:
    text = README.read_text()

    assert text.index("git clone") < text.index("make serve") < text.index("](docs/picture.svg)")
    assert text.count("![") == 1
    assert (ROOT / "docs" / "picture.svg").read_text().count("prefers-color-scheme: dark") == 1


def test_the_client_in_python_is_thirty_lines() -> None:
    ((_, program),) = blocks_of(README, "python")

    assert len(program.splitlines()) <= 30
