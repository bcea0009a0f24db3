from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.agents import ContactPolicy
from mcp_agent_mail.domain.contacts import (
    AutoScope,
    ContactFacts,
    LinkStatus,
    Relation,
    SharedThread,
    Verdict,
    decide,
    intro_subject,
    is_intro,
    reason_of,
    relation,
)

YES_AND_NO = (False, True)


def every_case() -> Iterator[ContactFacts]:
    """All 30,720 combinations of what the decision looks at."""
    for policy, link, thread, scope in itertools.product(ContactPolicy, Relation, SharedThread, AutoScope):
        for flags in itertools.product(YES_AND_NO, repeat=8):
            retired, to_self, overseer, near, enforced, answers, leases, wrote = flags
            yield ContactFacts(
                policy=policy,
                relation=link,
                is_retired=retired,
                is_self=to_self,
                is_overseer=overseer,
                same_project=near,
                enforced=enforced,
                scope=scope,
                answers=answers,
                thread=thread,
                overlapping_reservations=leases,
                wrote_to_each_other=wrote,
            )


# The rules once more, as a table and not as code: the first row that fits says what happens. A row names only what it
# asks for.
_RULES: list[tuple[dict[str, set[object]], Verdict]] = [
    ({"is_retired": {True}}, Verdict.RECIPIENT_RETIRED),
    ({"policy": {"block_all"}}, Verdict.CONTACT_BLOCKED),
    ({"enforced": {False}}, Verdict.DELIVER),
    ({"relation": {"blocked"}}, Verdict.CONTACT_BLOCKED),
    ({"is_self": {True}}, Verdict.DELIVER),
    ({"policy": {"open"}}, Verdict.DELIVER),
    ({"is_overseer": {True}}, Verdict.DELIVER),
    ({"answers": {True}}, Verdict.DELIVER),
    ({"relation": {"approved"}}, Verdict.DELIVER),
    ({"policy": {"auto"}, "scope": {"project"}, "same_project": {True}}, Verdict.DELIVER),
    ({"policy": {"auto"}, "scope": {"context"}, "thread": {"both"}}, Verdict.DELIVER),
    ({"policy": {"auto"}, "scope": {"context"}, "overlapping_reservations": {True}}, Verdict.DELIVER),
    ({"policy": {"auto"}, "scope": {"context"}, "wrote_to_each_other": {True}}, Verdict.DELIVER),
    ({}, Verdict.CONTACT_REQUIRED),
]


def by_the_table(facts: ContactFacts) -> Verdict:
    return next(
        verdict for asked, verdict in _RULES if all(getattr(facts, name) in wanted for name, wanted in asked.items())
    )


def test_the_decision_is_the_table_in_every_case() -> None:
    wrong = [case for case in every_case() if decide(case) is not by_the_table(case)]

    assert wrong == []


def test_every_row_of_the_table_decides_some_case() -> None:
    used = {
        next(
            place
            for place, (asked, _) in enumerate(_RULES)
            if all(getattr(case, name) in wanted for name, wanted in asked.items())
        )
        for case in every_case()
    }

    assert used == set(range(len(_RULES)))


def test_what_is_costly_to_know_matters_only_where_contact_is_required_without_it() -> None:
    """So it need not be looked up for anybody else."""
    cheap = {"answers": False, "thread": SharedThread.NONE, "overlapping_reservations": False}
    changed = [
        case
        for case in every_case()
        if decide(case) is not (plain := decide(replace(case, **cheap, wrote_to_each_other=False)))  # type: ignore[arg-type]
        and plain is not Verdict.CONTACT_REQUIRED
    ]

    assert changed == []


@pytest.mark.parametrize("link", [Relation.PENDING, Relation.EXPIRED])
def test_a_request_and_an_expired_link_are_no_link(link: Relation) -> None:
    differing = [
        case
        for case in every_case()
        if case.relation is link and decide(case) is not decide(replace(case, relation=Relation.NONE))
    ]

    assert differing == []


@pytest.mark.parametrize("status", LinkStatus)
def test_a_link_ends_at_the_very_instant_of_its_expiry(status: LinkStatus) -> None:
    expires = Micros(10 * SECOND)

    assert relation(status, expires, Micros(expires - 1)).value == status.value
    assert relation(status, expires, expires) is Relation.EXPIRED
    assert relation(status, None, expires).value == status.value


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (ContactFacts(policy=ContactPolicy.OPEN, is_retired=True), "RedStone is retired"),
        (ContactFacts(policy=ContactPolicy.BLOCK_ALL), "RedStone takes no mail"),
        (ContactFacts(policy=ContactPolicy.OPEN, relation=Relation.BLOCKED), "RedStone has declined your contact"),
        (ContactFacts(policy=ContactPolicy.CONTACTS_ONLY), "RedStone takes mail from its contacts only"),
        (
            ContactFacts(policy=ContactPolicy.CONTACTS_ONLY, relation=Relation.PENDING),
            "RedStone takes mail from its contacts only, and has not answered your contact request yet",
        ),
        (
            ContactFacts(policy=ContactPolicy.AUTO, same_project=False),
            "RedStone takes mail from its contacts and agents of its own project only",
        ),
        (
            ContactFacts(policy=ContactPolicy.AUTO, scope=AutoScope.CONTEXT),
            "RedStone takes mail from its contacts and agents it works with only",
        ),
    ],
)
def test_a_refusal_says_why(facts: ContactFacts, reason: str) -> None:
    assert reason_of(decide(facts), facts, "RedStone") == reason


def test_an_introduction_is_told_by_its_subject_and_the_call_that_answers_it() -> None:
    body = "Answer: `respond_contact(accept=true)`"

    assert is_intro(intro_subject("BlueLake@code-lib"), body)
    assert not is_intro(f"Re: {intro_subject('BlueLake')}", body)
    assert not is_intro(intro_subject("BlueLake"), "May I write to you?")
