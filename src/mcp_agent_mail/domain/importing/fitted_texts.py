"""What another system's texts and times become where this one has a form for them. The same text gives the same one."""

from __future__ import annotations

import hashlib

from mcp_agent_mail.core.clock import LATEST, Micros
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.doors.texts import subject_of
from mcp_agent_mail.domain.messages import MAX_SUBJECT
from mcp_agent_mail.domain.threads import UnfitThread, UnfitTopic, parse_thread_id, parse_topic, root_of_thread

_BREAKS = lazy_pattern("\r\n|[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = lazy_pattern("[\x00-\x1f\x7f-\x9f]")
_NO_TEXT = lazy_pattern("[\x00\ud800-\udfff]")
_NO_BYTES = lazy_pattern("[\ud800-\udfff]")
_NOT_IN_THREAD = lazy_pattern(r"[^A-Za-z0-9._-]+")
_HASH = 8
_MOST_OF_THREAD = 128 - _HASH - 1
_MOST_OF_TOPIC = 64 - _HASH - 1
_CUT = "…"


def fit_text(text: str) -> str:
    """Without what is no text: NUL and halves of surrogates become U+FFFD."""
    return _NO_TEXT.sub("\ufffd", text) if _NO_TEXT.search(text) else text


def fit_body(body_md: str) -> str:
    """Byte for byte, but for halves of surrogates, which have no bytes."""
    return _NO_BYTES.sub("\ufffd", body_md) if _NO_BYTES.search(body_md) else body_md


def fit_line(text: str, most: int) -> str:
    """One line of at most `most` characters, cut with a sign that says so."""
    line = _CONTROL.sub("", _BREAKS.sub(" ", fit_text(text))).strip()
    return line if len(line) <= most else line[: most - 1].rstrip() + _CUT


def fit_subject(subject: str | None, body_md: str) -> str:
    """A subject as this server takes it; where there is none, that which a door's message has by its body."""
    line = "" if subject is None else fit_line(subject, MAX_SUBJECT)
    return line or fit_line(subject_of(body_md), MAX_SUBJECT)


def fit_thread(name: str) -> str:
    """The thread's name where it is fit here. Bare numbers are messages; what has other characters, or is too long,
    goes on with a hash of what it was.
    """
    try:
        thread = parse_thread_id(name)
    except UnfitThread:
        return _hashed(name, _MOST_OF_THREAD, "thread")
    return f"thread-{thread}" if root_of_thread(thread) is not None else thread


def fit_topic(topic: str | None) -> str | None:
    """Likewise of a topic; None for a blank one."""
    if topic is None or not topic.strip():
        return None
    try:
        return parse_topic(topic)
    except UnfitTopic:
        return _hashed(topic, _MOST_OF_TOPIC, "topic")


def fit_time(at: Micros) -> Micros:
    """Within the calendar that is written here."""
    return Micros(min(max(at, 0), LATEST))


def _hashed(text: str, most: int, otherwise: str) -> str:
    kept = _NOT_IN_THREAD.sub("-", text).strip("-._")[:most].rstrip("-._") or otherwise
    digest = hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{kept}-{digest}"
