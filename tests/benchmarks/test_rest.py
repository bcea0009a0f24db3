from __future__ import annotations

from dataclasses import replace

from benchmarks.rest import Weighed, figures
from benchmarks.weights import Weight

STARTED = Weight(
    pss_mib=130.0,
    server_pss_mib=100.0,
    git_pss_mib=10.0,
    anonymous_mib=90.0,
    file_handles=20,
    database_mib=1.0,
    wal_mib=1.0,
    packs=0,
    archive_mib=0.0,
)


def _verdict(*resting_mib: float) -> str:
    resting = [replace(STARTED, pss_mib=mib, git_pss_mib=0.0) for mib in resting_mib]
    loaded = replace(STARTED, pss_mib=200.0)
    return figures([Weighed(calls=1_000, started=STARTED, loaded=loaded, resting=resting)])[0].verdict


def test_what_is_let_go_of_until_the_end_of_the_rest_is_not_kept() -> None:
    assert _verdict(190.0, 160.0, 138.0) == "met"


def test_what_is_still_there_at_the_end_is_kept() -> None:
    assert _verdict(190.0, 139.0) == "missed"
