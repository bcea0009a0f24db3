"""The parameters that messaging tools and resources share."""

from __future__ import annotations

from mcp_agent_mail.core.errors import InvalidInput, listed
from mcp_agent_mail.core.params import Choice, Count, Ids, Matching, Text, Texts
from mcp_agent_mail.domain.attachments import MAX_ATTACHMENTS, parse_digest
from mcp_agent_mail.domain.messages import Importance, parse_subject
from mcp_agent_mail.domain.threads import parse_thread_id, parse_topic

BODY = Text(max_length=64 * 1024 * 1024, may_be_blank=True, raw=True)  # MESSAGE_BODY_MAX_BYTES decides
ATTACHMENTS = Texts(max_items=MAX_ATTACHMENTS, max_length=64 * 1024 * 1024)  # ATTACHMENT_MAX_BYTES decides
"""Files of the project by path, `data:` URIs, and `sha256:` of what one may read."""
DIGEST = Matching(parse_digest)
IMPORTANCE = Choice(tuple(one.value for one in Importance))
THREAD = Matching(parse_thread_id)
TOPIC = Matching(parse_topic)
INBOX_LIMIT = Count(0, 1_000)
"""0 asks for the counts of an inbox alone."""
MESSAGE_IDS = Ids(
    min_items=1,
    max_items=200,
    for_all="fetch_inbox lists the ids; with mark_read=true it marks read what it returns.",
)
SUBJECT = Matching(parse_subject, unless="reply_to")
"""An answer has its original's."""


class EitherIdRequired(InvalidInput):
    """Of two parameters that say which mail is meant, both were given or none."""


def require_one(tool: str, **given: object) -> None:
    """Raise EitherIdRequired unless exactly one of the parameters is given."""
    names = list(given)
    count = sum(value is not None for value in given.values())
    if count != 1:
        raise EitherIdRequired(
            f"{tool} takes one of {listed(names, 'and')}; {'both' if count else 'none'} came.",
            hint=f"Give {listed(names)}.",
            data={"parameter": names[0], "one_of": names},
        )
