"""The words by which sentences are told apart: English cues, as regular expressions.

Peers write what these are matched against, so every repetition in them is bounded.
"""

from __future__ import annotations

import re

from mcp_agent_mail.core.lazy.pattern import lazy_pattern


def _any_of(*alternatives: str) -> re.Pattern[str]:
    return lazy_pattern("|".join(alternatives), re.IGNORECASE)


MINE = _any_of(
    r"\b(?:I'll|I will|I'm going to|I am going to|I can take|I take|I'll take|I am taking|I'm taking|I shall|let me)\b"
    r"(?! (?:not|be (?:away|out|back|off|offline)|know|assume|wait)\b)",
)
"""The sender takes something upon itself."""

REQUEST = _any_of(
    r"\bplease\b(?! ?[.,!?]*$)",
    r"^(?:can|could|would|will) (?:you|someone|somebody|anyone|@[A-Z][\w-]{0,63})\b"
    r"(?!.{0,200}\bor (?:shall|should|can) I\b)",
    r"\byou (?:need to|have to|must|should)\b",
    r"(?<!\bwe )\bneeds? to be [a-z]{2,12}(?:ed|en|ne|lt)\b",
    r"\bwe (?:still )?need to (?!be|know|have)\b",
    r"\bremember to\b",
    r"\bsomeone (?:should|must|needs to|has to)\b",
)
COURTESY = _any_of(
    r"\bplease (?:let (?:me|us) know|shout|note|see|ignore|be aware|find|stand by|ping|tell me|advise)\b",
    r"\b(?:can|could|would) you (?:tell|explain|say|remind|clarify|let)\b",
)
"""Asks for an answer or for nothing, in the words of a request."""

_WILL = r"(?:will|'ll|are going to|shall)"
_COURSE = r"(?:use|keep|go|adopt|drop|stay|stick|ship|not|support|move to|switch)"
DECIDED = _any_of(
    r"\b(?:we|i|team|all|both|everyone|everybody)(?:'ve| have| all| both)?(?: now| finally| also)? ?"
    r"(?:decided|agreed|agree|settled|chose|picked|concluded)\b",
    r"\b(?:was|is|been|it's) (?:decided|agreed|settled)\b",
    r"\bdecision(?: is| was)\b",
    r"\blet's (?:go with|use|keep|stick|ship|drop|do|adopt|take|not|stay)\b",
    r"\b(?:going|we go|we'll go|go) with\b",
    rf"\bwe ?{_WILL} {_COURSE}\b",
    r"\bsettled on\b",
    r"\bapproved\b",
)
UNDECIDED = _any_of(
    r"(?:\b(?:not|never|yet to|whether|until|unless|if|before|could|might|maybe|perhaps|would)|n't)\b.{0,24}"
    r"\b(?:decided|decide|agreed|agree|settled|go with|going with|chose|approved|use)\b",
    r"\bnothing (?:is |was )?(?:decided|agreed)\b",
    r"\bundecided\b",
    r"\b(?:I propose|I suggest|I'd|proposal|how about|what about|what if)\b",
)

_PAST = (
    r"(?:added|fixed|merged|pushed|landed|completed|finished|shipped|wrote|implemented|removed|updated|moved|deployed|"
    r"released|published|renamed|reviewed|tested|rebased|reverted|documented|migrated|closed|did|ran|deleted|created|"
    r"opened|bumped|rotated|restarted|written|rolled)"
)
DONE_WORK = _any_of(
    r"^(?:done|finished|fixed|merged|pushed|landed|completed|shipped|released|deployed)\b",
    rf"\b(?:i|i've|i have|we|we've|we have)(?: just| already| now)? (?:{_PAST}|[a-z]{{3,12}}ed)\b",
    r"^(?!need|indeed|agreed|based|related|decided|proposed|supposed|settled|measured|approved|expected)[a-z]{3,12}ed\b",
    r"\b(?:is|are|was|were|has been|have been|now|all) (?:done|finished|fixed|merged|pushed|landed|complete|completed|"
    r"shipped|deployed|released|in main|on main|in place|published|removed|written)\b",
)
NEGATED = _any_of(r"(?:\b(?:not|never|nothing|cannot|until|once|when|after|before|if|unless)|n't)\b")

POINT = _any_of(
    r"\b(?:because|root cause|caused by|due to|blocked|blocker|blocks|broken|breaks|broke|fails|failed|failing|"
    r"crash(?:es|ed)?|regression|deadline|important|critical|leaks?|leaked|race|deadlock|timeout|times out|measured|"
    r"faster|slower|deprecated|incompatible|vulnerab\w{1,10}|missing|conflicts?|corrupt\w{0,5}|turned out|turns out|"
    r"found (?:that|out|the)|means that|limit(?:ed)? (?:is|to)|depends on|requires|must not|always|never|"
    r"the (?:problem|issue|bug|reason|fix|cause) (?:is|was))\b",
    r"\b\d{1,9}(?:\.\d{1,6})? ?(?:%|ms|s|MB|GB|KiB|MiB|GiB|KB|x)(?!\w)",
    r"\b(?:from|of) \d[\d,.]{0,15} to \d",
)
OPEN_MATTER = _any_of(
    r"\bI (?:wonder|am not sure|'m not sure|don't know|do not know) (?:whether|if|how|why|which|what|who)\b",
    r"\bI'm not sure (?:whether|if|how|why|which|what)\b",
    r"\b(?:it is|it's|still) (?:unclear|open|undecided)\b",
    r"\bremains open\b|\bopen question\b",
)
SMALL_TALK = _any_of(
    r"^(?:hi|hello|hey|thanks|thank you|cheers|great|ok|okay|sounds good|good morning|sure|yes|no|yep|nope|perfect|"
    r"nice|lgtm|\+1|agreed|got it|will do|on it|ack|noted|done|see above|see below|regards|best)\b[^.]{0,30}[.!,]?$",
)
PLEASANT_QUESTION = _any_of(
    r"^(?:ok|okay|right|agreed|thoughts|makes sense|sounds good|fine|(?:any )?objections|ready)\?$",
)
UNKNOWING = _any_of(
    r"\b(?:(?:I )?(?:don't|do not) know|not sure|no idea|unclear|(?:I'll|I will|let me) (?:ask|check|find out|look))\b",
)
"""A reply that leaves the question open."""

CHOICE = _any_of(r"\bor\b.{0,200}\?")
INTERJECTION = _any_of(r"^(?:(?:yes|yep|sure|ok|okay|good|great|thanks|fine|right|then|so)[,:]? )+(?=\S)")

ACCEPTANCE = _any_of(r"^(?:yes|sure|ok|okay|will do|on it|of course|understood|can do|yep|done)\b")
ANSWER = _any_of(
    r"^(?:yes|no|yep|yeah|nope|sure|correct|right|exactly|agreed|ok|okay|neither|both|not yet|"
    r"it (?:is|does|was|has|should|can))\b",
)
BARE_DONE = _any_of(
    r"^(?:that is |that's |this is |it is |it's |all )?(?:now )?"
    r"(?:done|finished|fixed|merged|pushed|landed|completed|shipped)\b",
)
"""A report that leaves out what is done."""
