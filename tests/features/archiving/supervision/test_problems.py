from __future__ import annotations

from mcp_agent_mail.features.archiving.supervision.problems import PROBLEMS_KEPT, Problems


def test_what_stands_outlives_every_archiver_and_gives_way_to_what_is_newer() -> None:
    problems = Problems()
    problems.stand("lib", "no project claims it")
    problems.fail("app", "it fails")
    assert problems.newest() == "app: it fails (1 more)"

    problems.forget()

    assert problems.newest() == "lib: no project claims it"
    assert problems.problems == {}


def test_no_more_of_them_stand_than_are_kept() -> None:
    problems = Problems()
    for number in range(PROBLEMS_KEPT + 5):
        problems.stand(f"archive-{number}", "no project claims it")

    assert len(problems.all()) == PROBLEMS_KEPT
