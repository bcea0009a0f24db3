"""Rule 2 against Git itself: `git check-ignore` on paths none of whose folders match.

Left out, and why: what is no rule 2 (`dir/*`, literals, a final `/` after a wildcard, which Git takes at any
depth), and plain characters before `**` within a segment (`a/b**/c`), which Git 2.39 takes for folders.
"""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.pattern import covers, parse_pattern
from tests.domain.pattern_rules import paths
from tests.domain.test_pattern_rules import NAMES, generate

CHECKED = [*paths(NAMES, 4), *paths(["a]", "]", "1", ".a", "#a"], 2), "abc", "a/abc", "cab/b", "A", "B/a"]
EXTRA = ["a**b", "**/a", "a/**/b", "**/a/**/b", "[!a-b]*", "[^]a]", "*\\b", "a?", "/*b", "/[ab]", "**a", "[[:alpha:]]*"]


def ignored(repository: Path, pattern: str, *, ignore_case: bool) -> set[str]:
    (repository / ".gitignore").write_text(pattern + "\n", encoding="utf-8")
    answer = subprocess.run(
        ["git", "-c", f"core.ignorecase={str(ignore_case).lower()}", "check-ignore", "-z", "--no-index", "--stdin"],
        cwd=repository,
        input="\0".join(CHECKED) + "\0",
        capture_output=True,
        check=False,
        text=True,
        encoding="utf-8",
    )
    assert answer.returncode in {0, 1}, answer.stderr
    return {path for path in answer.stdout.split("\0") if path}


def is_asked(text: str) -> bool:
    """Whether rule 2 decides, as Git 2.39 does too."""
    is_wild = bool({"*", "?", "["} & set(re.sub(r"\\.", "", text)))
    return is_wild and not text.endswith(("/", "/*", "/**", "/***")) and not re.search(r"[^*/]\*\*", text)


@pytest.mark.parametrize("ignore_case", [False, True])
def test_git_ignores_the_paths_that_the_pattern_covers(tmp_path: Path, *, ignore_case: bool) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    chance = random.Random(11)
    texts = [text for text in [*EXTRA, *(generate(chance)[0] for _ in range(140))] if is_asked(text)]
    compared = 0

    for text in texts:
        pattern = parse_pattern(text, ignore_case=ignore_case)
        by_git = ignored(tmp_path, text if text[0] not in "#!" else f"\\{text}", ignore_case=ignore_case)
        for path in CHECKED:
            parts = path.split("/")
            if any(covers(pattern, "/".join(parts[:count]), WorkBudget()) for count in range(1, len(parts))):
                continue
            compared += 1
            assert covers(pattern, path, WorkBudget()) is (path in by_git), (text, path)

    assert len(texts) > 50
    assert compared > 10_000
