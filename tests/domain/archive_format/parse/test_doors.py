from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.domain.archive_format.parse.files import UnreadableArtifact, parse_file

GOLDEN = Path(__file__).parents[3] / "golden" / "archive" / "doors-6f7a8b"
PROFILE = "agents/BlueLake/profile.json"
MAIL = "messages/2026/11/500-999/2026-11-21T21-00-00Z__plan-for-the-week__742.md"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"doors": ["agentmail", "postal"]', '"doors": ["postal", "agentmail"]'),
        ('"doors": ["agentmail", "postal"]', '"doors": ["postal", "postal"]'),
        ('"doors": ["agentmail", "postal"]', '"doors": ["pigeon"]'),
        ('"doors": ["agentmail", "postal"]', '"doors": "postal"'),
        ('"doors": ["agentmail", "postal"]', '"doors": [1]'),
        ('"owner": "claude-mailbox"', '"owner": "pigeon"'),
        ('"name": "blue"', '"name": ""'),
        ('"name": "blue"', '"name": " blue"'),
        ('"name": "blue"', '"name": "blue\\u202e"'),
        ('"name": "blue"', f'"name": "{"x" * 129}"'),
        ('"id": 3', '"id": 4'),
        ('"id": 3', '"id": 5'),
        ('"id": 3', '"id": -3'),
        ('"unclaimed": true', '"unclaimed": false'),
        ('"unclaimed": true', '"unclaimed": 1'),
    ],
)
def test_names_that_no_profile_has_are_not_read(before: str, after: str) -> None:
    assert _is_refused(PROFILE, before, after)


def test_without_names_there_is_nothing_unclaimed() -> None:
    kept = [line for line in (GOLDEN / PROFILE).read_text().split("\n") if "aliases" not in line]
    with pytest.raises(UnreadableArtifact, match="unclaimed"):
        parse_file(PROFILE, "\n".join(kept).encode(), 2)

    assert _is_refused(PROFILE, (GOLDEN / PROFILE).read_text().split("\n")[1], '  "aliases": [],')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"door": "postal"', '"door": "pigeon"'),
        ('"id": "m \\"1\\""', '"id": ""'),
        ('"id": "m \\"1\\""', f'"id": "{"x" * 257}"'),
        ('"id": "m \\"1\\""', '"id": "\\u0000"'),
        ('"id": "m \\"1\\""', '"id": 1'),
        ('"answers": 740', '"answers": null'),
        ('"answers": 740', '"answers": -1'),
        ('"recipient_id": 16}', '"recipient_id": 17}'),
        ('"recipient_id": 16}', '"recipient_id": "16"}'),
    ],
)
def test_an_id_that_no_mail_has_is_not_read(before: str, after: str) -> None:
    assert _is_refused(MAIL, before, after)


def _is_refused(path: str, before: str, after: str) -> bool:
    text = (GOLDEN / path).read_text()
    assert before in text
    try:
        parse_file(path, text.replace(before, after, 1).encode(), 2)
    except UnreadableArtifact:
        return True
    return False
