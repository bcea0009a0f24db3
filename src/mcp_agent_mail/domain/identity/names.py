"""Agents' names: which are fit, which are spoken for, and how the server makes one up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

from mcp_agent_mail.core.errors import Conflict, InvalidInput, NotFound, listed
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.likeness import likeness, most_like, one_hint_budget
from mcp_agent_mail.domain.identity.name_words import ADJECTIVES, NOUNS

HUMAN = "Human"
SYSTEM = "System"

CANDIDATES = 64
"""How many generated names one registration may try; with half of all names taken, all fail once in 10^19."""

_COMPARED = 200
"""So many characters of what a caller wrote are looked at for hints."""
_MOST_PARTS = 20

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_HUMAN_ALIASES = frozenset({"human", "humanoverseer"})

# Compared without `-` and `_`, in lower case.
_RESERVED = frozenset(
    """
    admin administrator agent agents all anonymous anybody anyone broadcast channel everybody everyone here human
    humanoverseer humans mailer me myself nobody none null operator overseer postmaster project root self server
    someone system thehuman undefined unknown user users you
    """.split()
)
_PROGRAMS = (
    "agentmail aider amazonq amp ampcode anthropic antigravity augment augmentcode auggie chatgpt claude claudecode "
    "claudedesktop cline codebuff codewhisperer codex codexcli copilot copilotcli crush cursor cursoragent cursorcli "
    "devin droid factorydroid gemini geminicli githubcopilot goose grokcli jules junie kilo kilocode kimicli "
    "kiro kirocli mcp mcpagentmail openai opencode openhands plandex qodo qwencode replit roo roocode rovodev "
    "sourcegraph tabnine trae vscode windsurf zencoder"
).split()
# A family's name alone is refused too; of a common word only a version ("Nova" is a name, "nova-pro" a model).
_MODEL_FAMILIES = (
    "claude opus sonnet haiku gpt chatgpt gemini gemma llama mistral mixtral magistral codestral devstral ministral "
    "deepseek qwen qwq grok kimi glm nemotron minimax starcoder codellama"
).split()
_COMMON_FAMILIES = "fable mythos instant bard palm phi yi command granite nova falcon jamba".split()
_MODEL_VARIANTS = (
    "opus sonnet haiku instant code coder codex mini nano micro small medium large pro flash lite turbo max ultra plus "
    "high low xhigh fast preview latest thinking reasoning reasoner chat instruct experimental exp beta vision oss "
    "omni distill"
).split()
# Longest first and possessive: each step is taken once, so that no name makes the match try its ways over and over.
_VARIANT = rf"(?:{'|'.join(sorted(_MODEL_VARIANTS, key=len, reverse=True))}|[a-z]?[0-9]++[bkmox]?)"
_MODEL = lazy_pattern(
    rf"(?:{'|'.join(_MODEL_FAMILIES)})(?>{_VARIANT}*)|(?:{'|'.join(_COMMON_FAMILIES)})(?>{_VARIANT}+)|o[1-9](?>{_VARIANT}*)"
)
_ADJECTIVE_KEYS = frozenset(word.lower() for word in ADJECTIVES)
_NOUN_KEYS = frozenset(word.lower() for word in NOUNS)


class NameEnforcement(StrEnum):
    """What happens to a name that an agent asks for: see docs/concepts/identity.md."""

    FREE = "free"
    COERCE = "coerce"
    STRICT = "strict"
    ALWAYS_AUTO = "always_auto"


class UnfitName(InvalidInput):
    """The name cannot be an agent's; the message says why."""


class NameTaken(Conflict):
    """The name asked for a new identity belongs to another agent."""


class NamesExhausted(Conflict):
    """Every generated name that was tried is taken."""


class UnknownAgent(NotFound):
    """No agent of the project has this name."""


def name_key(name: str) -> str:
    """What names are compared by: letter case and outer blanks are ignored, nothing else."""
    return name.strip().lower()


def recipient_name(name: str) -> str:
    """The name a recipient goes by: `HumanOverseer` is `Human`."""
    return HUMAN if name_key(name) in _HUMAN_ALIASES else name.strip()


def is_generated_form(name: str) -> bool:
    """Adjective+Noun of the word lists, in any letter case."""
    key = name_key(name)
    return any(key[:cut] in _ADJECTIVE_KEYS and key[cut:] in _NOUN_KEYS for cut in range(1, len(key)))


def flaw_of(name: str, *, program: str = "", model: str = "") -> str | None:
    """Why `name` cannot be an agent's, as the end of a sentence; None when it can."""
    bare = re.sub(r"[-_]", "", name.lower())
    if not _NAME.fullmatch(name):
        return "is not a letter followed by at most 63 letters, digits, `-` or `_`"
    if bare in _RESERVED:
        return "is a reserved word"
    if bare.rstrip("0123456789") in _PROGRAMS or name_key(name) == name_key(program):
        return "names a program, not an agent: several agents may run it"
    if _MODEL.fullmatch(bare) or name_key(name) == name_key(model):
        return "names a model, not an agent: several agents may use it"
    return None


def has_names_form(name: str) -> bool:
    """Whether an agent that comes by a door can have the name: agents of other systems are called as programs and
    models are.
    """
    return _NAME.fullmatch(name) is not None and re.sub(r"[-_]", "", name.lower()) not in _RESERVED


def require_fit(name: str, *, program: str = "", model: str = "") -> str:
    """`name` less outer blanks, or UnfitName with the reason."""
    cleaned = name.strip()
    if flaw := flaw_of(cleaned, program=program, model=model):
        raise UnfitName(
            f"The name {cleaned!r:.100} {flaw}.",
            hint="Choose a name of your own, like BlueLake or api-reviewer, or leave it out to be given one.",
            data={"parameter": "name", "name": cleaned[:100], "pattern": _NAME.pattern},
            refused=cleaned,
        )
    return cleaned


def name_to_register(asked: str | None, mode: NameEnforcement, *, program: str, model: str) -> str | None:
    """The name a registration is given as asked for; None when one is generated instead.

    Raises UnfitName where the mode refuses rather than generates.
    """
    if asked is None or mode is NameEnforcement.ALWAYS_AUTO:
        return None
    cleaned = asked.strip()
    if mode is NameEnforcement.COERCE:
        return cleaned if is_generated_form(cleaned) else None
    fit = require_fit(cleaned, program=program, model=model)
    return _require_adjective_noun(fit) if mode is NameEnforcement.STRICT else fit


def name_from_hint(
    hint: str | None, mode: NameEnforcement, *, program: str, model: str, is_taken: Callable[[str], bool]
) -> str | None:
    """The name of an identity that must be new: the hint, or None to generate one.

    Only `strict` raises: UnfitName, or NameTaken.
    """
    if hint is None or mode is NameEnforcement.ALWAYS_AUTO:
        return None
    cleaned = hint.strip()
    if mode is NameEnforcement.STRICT:
        name = _require_adjective_noun(require_fit(cleaned, program=program, model=model))
        if is_taken(name):
            raise NameTaken(
                f"The name {name} is taken in this project.",
                hint="Leave name_hint out to be given a free name, or register_agent to come back as that agent.",
                data={"parameter": "name_hint", "name": name},
            )
        return name
    unfit = flaw_of(cleaned, program=program, model=model) is not None
    unlike = mode is NameEnforcement.COERCE and not is_generated_form(cleaned)
    return None if unfit or unlike or is_taken(cleaned) else cleaned


def _require_adjective_noun(name: str) -> str:
    if not is_generated_form(name):
        raise UnfitName(
            f"The name {name!r:.100} is not made of an adjective and a noun of the word lists, as "
            "AGENT_NAME_ENFORCEMENT_MODE=strict asks.",
            hint="Leave the name out to be given one, or use one like BlueLake.",
            data={"parameter": "name", "name": name[:100], "enforcement": NameEnforcement.STRICT.value},
            refused=name,
        )
    return name


def candidate_names(choose: Callable[[Sequence[str]], str], count: int = CANDIDATES) -> list[str]:
    """Generated names, drawn before the unit of work that takes the first one that is free."""
    return [choose(ADJECTIVES) + choose(NOUNS) for _ in range(count)]


def first_free(candidates: Iterable[str], is_taken: Callable[[str], bool]) -> str:
    """The first candidate that is not taken. Raises NamesExhausted when all are."""
    for name in candidates:
        if not is_taken(name):
            return name
    raise NamesExhausted(
        f"{CANDIDATES} generated names are all taken in this project.",
        hint="Call again with a name of your own.",
        data={"parameter": "name"},
    )


def bare_name(text: str) -> str:
    """What remains of a name in whatever spelling: `Blue-Lake`, `blue_lake` and `@Blue Lake` are one. For hints."""
    return re.sub(r"[-_@\s]", "", text[:_COMPARED]).lower()


def _forms(wanted: str) -> Iterator[str]:
    """What may be the name in it, bare: all of it, or a part of a path or an address (`/agents/BlueLake`,
    `BlueLake@app`, `app#BlueLake`, `BlueLake (claude)`), the last part first but for an address.
    """
    yield bare_name(wanted)
    text = wanted.strip()[:_COMPARED].strip("@/#: ")
    if "@" in text:
        yield bare_name(text.partition("@")[0])
    yield from (bare_name(part) for part in reversed(re.split(r"[/\\#:@(),\s]+", text)[:_MOST_PARTS]))


class KnownNames:
    """Names among which the one that was probably meant is looked for, however often. For hints only: nothing is ever
    matched by likeness. Of those that are `retired` one is found only where it must have been meant.
    """

    def __init__(self, names: Iterable[str], retired: Iterable[str] = ()) -> None:
        self._retired = list(retired)
        self._shown = {name.lower(): name for name in names}
        self._by_form: dict[str, list[str]] = {}
        for name in self._shown.values():
            self._by_form.setdefault(bare_name(name), []).append(name)

    def nearest(self, wanted: str, limit: int = 3) -> list[str]:
        """At most `limit` of the names, best first: those that stand in `wanted` in another spelling, where there are
        none those that are spelt like it, as far as there is time to compare them. Before these the retired one of
        which it is another spelling or a slip, if it is none of theirs.
        """
        forms = dict.fromkeys(_forms(wanted))
        written = [name for form in forms if form for name in self._by_form.get(form, ())]
        if written:
            return written[:limit]
        like = most_like(wanted.strip().lower(), self._shown, limit=limit, compared=_COMPARED)
        close = [self._shown[name] for name in like]
        gone = None if mistaken_for(wanted, close) else self._retired_one(wanted, forms)
        return close if gone is None else [gone, *close][:limit]

    def told(self, names: Iterable[str]) -> list[str]:
        """The names as a hint names them: of the retired ones it says so."""
        retired = set(self._retired)
        return [f"{name} (retired)" if name in retired else name for name in names]

    def _retired_one(self, wanted: str, forms: Iterable[str]) -> str | None:
        written = {form for form in forms if form}
        spelt = next((name for name in self._retired if bare_name(name) in written), None)
        return spelt or mistaken_for(wanted, self._retired)


def nearest(wanted: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Once, as `KnownNames.nearest`."""
    return KnownNames(known).nearest(wanted, limit)


_SLIP = 0.85
"""Names as like as that differ by a slip; more differ on purpose (`api-reviewer`, `ui-reviewer`)."""


def mistaken_for(wanted: str, known: Iterable[str]) -> str | None:
    """The known name that a new one may be a slip of: the same in another spelling, or with a letter or two wrong.
    The first letter and numbers tell names apart (`worker-1`, `worker-2`). For hints only.
    """
    bare = bare_name(wanted)
    best, found = _SLIP, None
    with one_hint_budget():
        for name in known:
            if name[:1].lower() != bare[:1] or _numbers(name) != _numbers(wanted):
                continue
            if (ratio := likeness(bare, bare_name(name))) >= best:
                best, found = ratio, name
    return found


def _numbers(name: str) -> list[str]:
    return re.findall(r"[0-9]+", name)


def did_you_mean(names: Sequence[str]) -> str:
    """The hint's first sentence, or nothing."""
    return f"Did you mean {listed(names)}? " if names else ""
