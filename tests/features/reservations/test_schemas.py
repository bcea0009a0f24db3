from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.domain.reservations import LeaseRefusal, PathConflict
from mcp_agent_mail.domain.staleness import NO_WORKSPACE, Evidence, Judgement, Missing
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.reservations import schemas
from mcp_agent_mail.features.reservations.answers import Replayed
from mcp_agent_mail.features.reservations.conflicts import ConflictPreview
from mcp_agent_mail.features.reservations.force_release import Forced
from mcp_agent_mail.features.reservations.grant import GrantResult
from mcp_agent_mail.features.reservations.release import ReleasedLeases, RenewedLeases
from mcp_agent_mail.features.reservations.staleness import Assessment
from tests.features.samples import APP, NOW, NOW_TEXT, OPEN, STRICT, a_lease, an_agent

BLUE = Actor(agent=an_agent(), project=APP)
IN_AN_HOUR = "2027-01-15T09:00:00.000000+00:00"
IN_TWO_HOURS = "2027-01-15T10:00:00.000000+00:00"


def test_a_first_answer_is_shown_as_decided_and_a_repeat_as_it_was() -> None:
    decided = GrantResult(holder=BLUE, granted=(a_lease(),), conflicts=(), now=NOW)
    first = {"granted": [], "conflicts": [], "idempotent_replay": True}

    shown = schemas.show_reserved(decided, set(), OPEN)
    again = schemas.show_reserved(Replayed(holder=BLUE, answer=first, live=()), set(), OPEN)

    assert ([grant["id"] for grant in shown["granted"]], shown["conflicts"], shown["verified"]) == ([1], [], False)
    assert again == {**first, "verified": False}


def test_a_release_lists_what_ended_and_what_did_not_by_what_it_was_named_with() -> None:
    refused = [LeaseRefusal(reason="not yours", lease_id=LeaseId(4)), LeaseRefusal(reason="nothing held", path="docs")]

    shown = schemas.show_released(ReleasedLeases(holder=BLUE, leases=[a_lease()], refused=refused, at=NOW), STRICT)

    assert shown == {
        "released": 1,
        "released_at": NOW_TEXT,
        "file_reservations": [{"id": 1, "path_pattern": "src/**"}],
        "not_released": [{"reason": "not yours", "id": 4}, {"reason": "nothing held", "path": "docs"}],
    }


def test_a_renewal_says_until_when_it_was_and_until_when_it_is() -> None:
    longer = replace(a_lease(), expires_ts=Micros(NOW + 7_200 * SECOND))
    refused = [LeaseRefusal(reason="nothing held", path="docs")]
    renewed = RenewedLeases(holder=BLUE, leases=[(longer, a_lease().expires_ts)], refused=refused)

    shown = schemas.show_renewed(renewed, STRICT)

    assert shown == {
        "renewed": 1,
        "file_reservations": [
            {
                "id": 1,
                "path_pattern": "src/**",
                "old_expires_ts": IN_AN_HOUR,
                "new_expires_ts": IN_TWO_HOURS,
                "fencing": 1,
            }
        ],
        "not_renewed": [{"id": None, "reason": "nothing held", "path": "docs"}],
    }


def test_a_look_ahead_says_which_of_the_holders_look_abandoned() -> None:
    conflict = PathConflict(path="src", holders=(a_lease(1), a_lease(2)))

    shown = schemas.show_preview(ConflictPreview(conflicts=(conflict,), free=("docs",)), {LeaseId(2)})

    assert [holder["stale"] for holder in shown["conflicts"][0]["holders"]] == [False, True]
    assert shown["free"] == ["docs"]


def assessed(*missing: Missing) -> Assessment:
    evidence = Evidence(agent_ts=NOW, watched_since=NOW, mail_ts=None, workspace=NO_WORKSPACE)
    judgement = Judgement(reasons=("agent_inactive>1800s",), missing=missing)
    return Assessment(lease=a_lease(), evidence=evidence, judgement=judgement)


def forced(*, is_released: bool) -> Forced:
    return Forced(project=APP, assessment=assessed(), released_ts=NOW, is_released=is_released, is_notified=is_released)


def test_a_forced_release_shows_the_lease_and_the_proof() -> None:
    shown = schemas.show_forced(forced(is_released=True))

    assert (shown["released"], shown["released_at"], "already_released" in shown) == (1, NOW_TEXT, False)
    reservation = shown["reservation"]
    assert (reservation["notified"], reservation["stale"]) == (True, True)
    assert reservation["stale_reasons"] == ["agent_inactive>1800s"]


def test_what_had_ended_before_says_so() -> None:
    shown = schemas.show_forced(forced(is_released=False))

    assert (shown["released"], shown["already_released"], shown["reservation"]["notified"]) == (0, True, False)


def test_a_lease_is_listed_with_what_is_known_of_work_on_it() -> None:
    shown = schemas.show_assessed(assessed(Missing.AGENT_ACTIVE))

    assert list(shown) == [
        "id",
        "agent",
        "path_pattern",
        "exclusive",
        "reason",
        "created_ts",
        "expires_ts",
        "released_ts",
        "fencing",
        "stale",
        "stale_reasons",
        "last_agent_activity_ts",
        "last_mail_activity_ts",
        "last_filesystem_activity_ts",
        "last_git_activity_ts",
    ]
    assert (shown["stale"], shown["last_agent_activity_ts"], shown["last_mail_activity_ts"]) == (False, NOW_TEXT, None)
