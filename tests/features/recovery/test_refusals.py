from __future__ import annotations

import pytest

from mcp_agent_mail.features.recovery.refusals import OF_ALL, ArchiveProblems, RebuildRefused


def test_each_archive_is_named_once_with_its_first_problem_and_the_way_on() -> None:
    problems = ArchiveProblems()
    for slug, problem in (("lib", "is gone"), ("app", "differs"), ("app", "differs again")):
        problems.add(slug, problem)

    with pytest.raises(RebuildRefused) as refused:
        problems.require_none()

    assert refused.value.data == {"archives": {"app": "differs (and 1 more like it)", "lib": "is gone"}}
    assert refused.value.hint.endswith("am doctor rebuild --without app --without lib")


def test_without_a_problem_nothing_is_refused() -> None:
    problems = ArchiveProblems()

    problems.require_none()

    assert not problems


def test_what_is_wrong_with_all_of_them_is_nothing_to_leave_out() -> None:
    problems = ArchiveProblems()
    problems.add(OF_ALL, "there is none")

    with pytest.raises(RebuildRefused) as refused:
        problems.require_none()

    assert "--without" not in refused.value.hint
    assert "am doctor restore BACKUP" in refused.value.hint
