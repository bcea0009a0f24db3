"""`completion/complete`: which arguments of prompts and resource templates can be completed, and with what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping

from mcp_types import CompleteRequestParams, CompleteResult, Completion, PromptReference

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import Credentials, call_as
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.completion.service import NOTHING, CompletionKind, Suggested, SuggestionService

Suggest = Callable[[Credentials, CompletionKind, str, str | None], Awaitable[Suggested]]

KINDS: Mapping[str, CompletionKind] = {
    "project": CompletionKind.PROJECT,
    "project_key": CompletionKind.PROJECT,
    "human_key": CompletionKind.PROJECT,
    "slug": CompletionKind.SLUG,
    "agent": CompletionKind.AGENT,
    "agent_name": CompletionKind.AGENT,
    "to": CompletionKind.AGENT,
    "thread_id": CompletionKind.THREAD,
}
"""By the argument's name."""

_PROJECT_NAMES = ("project", "project_key", "human_key", "slug")


async def complete(
    suggest: Suggest, known: Collection[str], credentials: Credentials, params: CompleteRequestParams
) -> CompleteResult:
    """The values for a half-written argument. What refers to none of `known`, the names of prompts and the URIs of
    templates, has none.
    """
    of = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
    asked = KINDS.get(params.argument.name)
    if asked is None or of not in known:
        return CompleteResult(completion=Completion(values=[]))
    given = (params.context.arguments if params.context is not None else None) or {}
    project = next((given[name] for name in _PROJECT_NAMES if given.get(name)), None)
    found = await suggest(credentials, asked, params.argument.value, project)
    return CompleteResult(completion=Completion(values=list(found.values), has_more=found.has_more))


def suggesting(service: SuggestionService, current_caller: Callable[[], Awaitable[Caller]]) -> Suggest:
    """`service`, asked as whoever the request's credentials prove; a token that is no one's gets no values."""

    async def suggest(
        credentials: Credentials, asked: CompletionKind, beginning: str, project: str | None
    ) -> Suggested:
        async def ask() -> Suggested:
            return await service.suggest(await current_caller(), asked, beginning, project)

        try:
            found: Suggested = await call_as(credentials, ask, {})
        except AgentMailError:
            return NOTHING
        return found

    return suggest
