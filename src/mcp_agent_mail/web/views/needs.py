"""What waits for a person, as cards and rows."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.ids import read_number
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.oversight.contact_questions import ContactQuestion
from mcp_agent_mail.features.oversight.needs import Needs, OverdueMail
from mcp_agent_mail.web.addresses import HOME, with_query
from mcp_agent_mail.web.views.contacts import ContactView, contact_view
from mcp_agent_mail.web.views.mail import MailList, person_row


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsView:
    """A page of each kind. The addresses lead on, None where nothing is left; `late_projects` are the slugs of those
    whose agents are late.
    """

    owed: MailList
    questions: Sequence[tuple[ContactQuestion, ContactView]]
    more_questions: str | None
    late: Sequence[OverdueMail]
    more_late: str | None
    late_projects: Sequence[str]


def needs_view(needs: Needs) -> NeedsView:
    """Requests as the project of the agent that is asked calls both.

    The rest of what is owed is the inbox's, filtered.
    """
    owed = [person_row(one, needs.reasons.get(one.head.id)) for one in needs.owed]
    return NeedsView(
        owed=MailList(rows=owed, next_href=with_query(HOME, {"q": "needs:ack"}) if needs.has_more_owed else None),
        questions=[
            (one, contact_view(one.contact, one.contact.target.project_id, needs.now)) for one in needs.questions
        ],
        more_questions=_behind("requests", needs.next_request),
        late=needs.late,
        more_late=_behind("overdue", needs.next_delivery),
        late_projects=list(dict.fromkeys(slug for one in needs.late for slug in one.projects)),
    )


def told_reminders(sent: str) -> str:
    """What the reminder that led to a page has done, from its number alone; empty without one."""
    count = read_number(sent)
    if count is None:
        return ""
    if not count:
        return "Nobody was reminded: of one message an agent is reminded once an hour."
    return f"{count} {'reminder was' if count == 1 else 'reminders were'} sent."


def _behind(kind: str, place: int | None) -> str | None:
    return None if place is None else with_query(HOME, {"box": "needs", kind: place})
