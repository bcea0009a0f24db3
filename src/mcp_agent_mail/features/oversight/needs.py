"""What waits for a person: mail to acknowledge, and requests to decide with the mail that they hold. Beside it what
agents owe each other, which the person may have them reminded of.

Each thing to decide counts once: held mail with its request, an introduction with the request that it introduces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ContactId, MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.messages import MessageHead
from mcp_agent_mail.features.oversight.contact_questions import ContactQuestion, contact_question
from mcp_agent_mail.store.mail.all_mail import HumanMail, HumanReason
from mcp_agent_mail.store.mail.overdue_acks import OverdueCopy
from mcp_agent_mail.store.transaction import View

MOST_NEEDS = 100
"""Of each kind, so many are counted."""
SHOWN_NEEDS = 50
"""Of each kind on one page."""
HELD_SHOWN = 3
"""Of one request's mail."""
NAMES_SHOWN = 3
LATE_COPIES_LOOKED_AT = 5_000
"""For one page of overdue messages: one to all agents has a copy for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverdueMail:
    """`late` of the `asked` agents have not acknowledged it in time, the longest since `since_ts`. The first of them
    are `names`; `projects` are the slugs of theirs.
    """

    head: MessageHead
    names: Sequence[str]
    projects: Sequence[str]
    late: int
    asked: int
    since_ts: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsPlace:
    """Behind which request, and which delivery number of what is overdue, a page begins."""

    after_request: int = 0
    after_delivery: int = 0


FIRST_NEEDS = NeedsPlace()


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """At most SHOWN_NEEDS of each kind: `owed` urgent first and then the oldest first, the others the oldest first.

    `next_request` and `next_delivery` are where the next page of their kind begins, None where nothing is left.
    """

    owed: Sequence[HumanMail]
    reasons: Mapping[MessageId, HumanReason]
    has_more_owed: bool
    questions: Sequence[ContactQuestion]
    next_request: int | None
    late: Sequence[OverdueMail]
    next_delivery: int | None
    now: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedCounts:
    """`unread` is mail to `Human`. `needs` is what the person is asked, counted as far as MOST_NEEDS of each kind:
    `is_least` where there may be more.
    """

    unread: int
    needs: int
    is_least: bool = False


def look_at_needs(view: View, place: NeedsPlace, late_until: Micros) -> Needs:
    """`late_until`: what was delivered then or before is overdue."""
    owed = view.all_mail.pressing_by_person(SHOWN_NEEDS + 1)
    asked = view.contact_pages.requests(view.now, after=ContactId(place.after_request), limit=SHOWN_NEEDS + 1)
    shown = asked[:SHOWN_NEEDS]
    late, next_delivery = _late(view, late_until, place.after_delivery)
    return Needs(
        owed=owed[:SHOWN_NEEDS],
        reasons=view.all_mail.reasons_of_person([one.head.id for one in owed[:SHOWN_NEEDS]]),
        has_more_owed=len(owed) > SHOWN_NEEDS,
        questions=[contact_question(view, one, HELD_SHOWN) for one in shown],
        next_request=shown[-1].id if len(asked) > SHOWN_NEEDS else None,
        late=late,
        next_delivery=next_delivery,
        now=view.now,
    )


def count_needs(view: View) -> NeedCounts:
    """What agents owe each other asks nothing of the person, and is not counted."""
    unread, owed = view.all_mail.count_to_person()
    counts = (
        view.all_mail.count_pressing(MOST_NEEDS + 1) if owed else 0,
        view.contact_pages.count_requests(view.now, MOST_NEEDS + 1),
    )
    return NeedCounts(
        unread=unread,
        needs=sum(min(one, MOST_NEEDS) for one in counts),
        is_least=any(one > MOST_NEEDS for one in counts),
    )


@dataclass(slots=True)
class _Late:
    since_ts: Micros
    names: list[str] = field(default_factory=list)
    projects: dict[str, None] = field(default_factory=dict)

    def add(self, copy: OverdueCopy) -> None:
        self.projects[copy.project_slug] = None
        if len(self.names) < NAMES_SHOWN:
            self.names.append(copy.agent_name)


def _late(view: View, until: Micros, after: int) -> tuple[list[OverdueMail], int | None]:
    """The copies of a message lie beside each other, but for those that were held."""
    found: dict[MessageId, _Late] = {}
    last, looked_at, following = after, 0, None
    for copy in view.overdue.late(until, after=after, limit=LATE_COPIES_LOOKED_AT):
        if copy.message_id not in found:
            if len(found) == SHOWN_NEEDS:
                following = last
                break
            found[copy.message_id] = _Late(copy.delivered_ts)
        found[copy.message_id].add(copy)
        last, looked_at = copy.delivery_seq, looked_at + 1
    if looked_at == LATE_COPIES_LOOKED_AT:
        following = last
    return [one for pair in found.items() if (one := _overdue_message(view, *pair, until)) is not None], following


def _overdue_message(view: View, message_id: MessageId, late: _Late, until: Micros) -> OverdueMail | None:
    if (head := view.messages.find_head(message_id)) is None:
        return None
    asked = view.overdue.asked(message_id, until)
    return OverdueMail(
        head=head,
        names=late.names,
        projects=list(late.projects),
        late=asked.late,
        asked=asked.all,
        since_ts=late.since_ts,
    )
