"""Whose a word for an agent is, the caller's or another's: for hints only. A name told under the other's word would be
taken for the other, and the call do the reverse of what was meant.
"""

from __future__ import annotations

from mcp_agent_mail.core.mistakes.synonyms import in_snake_case

_FROM = frozenset("author from requester requesting sender".split())
_TO = frozenset("addressee receiver receivers recipient recipients target targets to".split())
_OWN = frozenset("caller identity me mine my myself own self".split())
_OTHERS = frozenset("contact other others peer peers".split())


def may_be_meant(word: str, parameter: str, *, is_caller: bool, is_other: bool) -> bool:
    """Whether whoever wrote `word` may mean `parameter`. `is_caller`: it is who calls; `is_other`: it is an agent, and
    another parameter is who calls. A word that is nobody's in particular may mean any.
    """
    words, there = ({*in_snake_case(name).split("_")} for name in (word, parameter))
    leads_from, leads_to = not _FROM.isdisjoint(there), not _TO.isdisjoint(there)
    if words & _OTHERS:
        return not is_caller
    if words & _OWN:
        return is_caller or not (is_other or leads_to)
    if words & _FROM:
        return not leads_to
    return not words & _TO or not (leads_from or (is_caller and not leads_to))
