from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.search.query import Filters, SearchScope
from mcp_agent_mail.store.mail.search_filters import is_for_several, search_parameters

ONE = AgentId(1)


@pytest.mark.parametrize(
    ("filters", "fits"),
    [
        (Filters(senders=(ONE,), recipients=(ONE,), thread_id="T", begin_ts=Micros(1), end_ts=Micros(2)), True),
        (Filters(participant_id=ONE), False),
        (Filters(sender_id=ONE), False),
        (Filters(since_ts=Micros(1)), False),
    ],
)
def test_what_is_of_one_project_or_agent_is_not_for_several(filters: Filters, fits: bool) -> None:
    assert is_for_several(filters) is fits


def test_what_is_not_filtered_by_is_asked_with_nothing() -> None:
    scope = SearchScope(project_id=ProjectId(1), agent_id=None, whole_project=True)
    asked = search_parameters(scope, Filters(recipients=(ONE, AgentId(2))))

    assert (asked["begin"], asked["end"]) == (None, None)
    assert asked["recipients"] == ",1,2,"
