"""Bad input of what holds files, slots, repositories and consent: rules that no type and no length shows."""

from __future__ import annotations

from collections.abc import Iterator

from tests.e2e.bad_input_samples import ACCEPTED, INVALID, NOT_THERE, TOOLS, VALID, Case, changed

PATHS = ("paths", "file_reservation_paths")
CLAIMING = [
    (tool, name)
    for tool, declared in TOOLS.items()
    for name, param in declared["params"].items()
    if name in PATHS and "item_max_len" in param
]
OUTSIDE = {
    "above": "../secrets",
    "above-all": "..",
    "above-from-within": "src/../../secrets",
    "absolute": "/etc/passwd",
}
UNREADABLE = {
    "open-class": "src/[a-z",
    "empty-class": "src/[]",
    "nothing-but-slashes": "///",
}
LITERAL = (
    "..\\secrets",
    "C:\\Windows\\system32",
    "~/.ssh/id_rsa",
    "!src/app.py",
    "$HOME",
    "`id`",
    "{a,b}",
    "#notes.md",
)
"""Files within the project, however they look elsewhere."""


def paths() -> Iterator[Case]:
    """Neither outside of the project nor unreadable, and one bad path among good ones refuses the call."""
    for tool, name in CLAIMING:
        for label, path in {**OUTSIDE, **UNREADABLE}.items():
            yield Case(f"{name}-{label}", tool, changed(tool, name, [path]), INVALID)
            yield Case(f"{name}-{label}-among-good", tool, changed(tool, name, ["src/a.py", path, "b"]), INVALID)
        for label, other in {"a-number": 42, "a-list-in-text": '["../x"]', "broken-list": '["src"'}.items():
            yield Case(f"{name}-{label}", tool, changed(tool, name, other), INVALID | ACCEPTED)


def literal_paths() -> Iterator[Case]:
    tool = "check_file_reservation_conflicts"
    for number, path in enumerate(LITERAL):
        yield Case(f"literal-{number}", tool, changed(tool, "paths", [path]), ACCEPTED)


def waiting() -> Iterator[Case]:
    if "file_reservation_paths" in TOOLS:
        tool = "file_reservation_paths"
        shared = {"wait_seconds": 1, "paths": ["../x"]}
        yield Case("bad-path-while-waiting", tool, {**VALID[tool], **shared}, INVALID)
        yield Case("wait-below-zero", tool, changed(tool, "wait_seconds", -1), INVALID)
        yield Case("wait-half", tool, changed(tool, "wait_seconds", 0.5), INVALID)


def repositories() -> Iterator[Case]:
    """Where no guard can be."""
    for tool, declared in TOOLS.items():
        if "code_repo_path" not in declared["params"]:
            continue
        for label, path in {
            "not-there": "/code/never-made",
            "no-repository": "/usr/share",
            "a-file": "/etc/passwd",
            "relative": "src",
            "above": "..",
            "a-device": "/dev/null",
            "an-option": "--upload-pack=touch",
            "a-url": "https://127.0.0.1/x.git",
        }.items():
            yield Case(f"code-repo-path-{label}", tool, changed(tool, "code_repo_path", path), NOT_THERE)


LEASE_TABLES = (paths, literal_paths, waiting, repositories)
