"""What a setting's text can be (`SettingKind`: what it expects, and how text becomes a value), and `Row`: one setting
with its name, group, kind and default. Standard library only.

Kinds without parameters are constants; those with bounds or choices are functions that make one. A text that does
not fit raises BadValue, whose message is shown to the operator and never holds a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from mcp_agent_mail.core.lazy.dataclass import dataclass

MASK = "***"

_TRUE = frozenset({"y", "yes", "t", "true", "on", "1"})
_FALSE = frozenset({"n", "no", "f", "false", "off", "0"})
_SIZE_UNITS = {"": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_FIRST_PRINTABLE = " "
_OUR_PATHS = ("rpc", "health", ".well-known")


class Secret:
    """A text that shows itself as `***`; `reveal` gives it away.

    No dataclass: `asdict` of the settings that hold it would spell it out.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def matches(self, given: str) -> bool:
        """Whether `given` is the secret, compared in constant time."""
        import hmac  # noqa: PLC0415  # hooks start without it

        return hmac.compare_digest(self._text.encode(), given.encode("utf-8", "surrogatepass"))

    def __len__(self) -> int:
        return len(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.matches(other.reveal())

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK


class BadValue(ValueError):
    """A text that is not of its kind; the message is the hint, empty where `expected` says it all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathContext:
    """Where relative paths start, and whose home `~` is."""

    folder: Path
    home: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingKind:
    """`label` stands in the reference, `expected` in messages. `parse` raises BadValue. `hides_paths`: of its URLs
    people may see the hosts alone.
    """

    label: str
    expected: str
    parse: Callable[[str, PathContext], object]
    secret: bool = False
    hides_paths: bool = False


def shown(value: object) -> str:
    """A value as people may see it: secrets and passwords in URLs masked, lists with commas, nothing as `-`."""
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value)
    return mask_url_password(str(value))


def mask_url_password(text: str) -> str:
    """Hide what stands before the `@` of a URL."""
    return re.sub(r"://[^@/\s]+@", f"://{MASK}@", text)


def _refuse_control_characters(text: str) -> None:
    if any(character < _FIRST_PRINTABLE or character == "\x7f" for character in text):
        raise BadValue("It holds a control character.")


def _bool(text: str, _: PathContext) -> bool:
    word = text.lower()
    if word not in _TRUE | _FALSE:
        raise BadValue("")
    return word in _TRUE


BOOL = SettingKind(label="true/false", expected="true or false (also yes/no, on/off, 1/0)", parse=_bool)


def whole(low: int, high: int) -> SettingKind:
    """A whole number from `low` to `high`."""

    def parse(text: str, _: PathContext) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            raise BadValue("Write digits only.")
        if not low <= (number := int(text)) <= high:
            raise BadValue("")
        return number

    return SettingKind(label=f"{low}-{high}", expected=f"a whole number from {low} to {high}", parse=parse)


def decimal(low: int, high: int) -> SettingKind:
    """A number from `low` to `high`, in plain digits."""

    def parse(text: str, _: PathContext) -> float:
        if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
            raise BadValue("Write digits, with a point if need be.")
        if not low <= (number := float(text)) <= high:
            raise BadValue("")
        return number

    return SettingKind(label=f"{low}-{high}", expected=f"a number from {low} to {high}", parse=parse)


def size(low: str, high: str) -> SettingKind:
    """A number of bytes, plain or with KiB, MiB or GiB."""
    least, most = _bytes(low), _bytes(high)

    def parse(text: str, _: PathContext) -> int:
        if not least <= (number := _bytes(text)) <= most:
            raise BadValue("")
        return number

    return SettingKind(
        label=f"bytes, {low}-{high}", expected=f"bytes from {low} to {high}, such as 65536 or 2MiB", parse=parse
    )


def _bytes(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,15})\s*([A-Za-z]*)", text)
    if match is None or match[2].upper() not in _SIZE_UNITS:
        raise BadValue("Units are KiB, MiB and GiB.")
    return int(match[1]) * _SIZE_UNITS[match[2].upper()]


def one_of(*words: str, upper: bool = False, synonyms: Mapping[str, str] | None = None) -> SettingKind:
    """One of a few words, ignoring case. `synonyms` are other words for some of them."""

    def parse(text: str, _: PathContext) -> str:
        word = text.upper() if upper else text.lower()
        word = (synonyms or {}).get(word, word)
        if word not in words:
            raise BadValue("")
        return word

    return SettingKind(label="/".join(words), expected=f"one of {', '.join(words)}", parse=parse)


YES_NO_AUTO = one_of("auto", "true", "false", synonyms=dict.fromkeys(_TRUE, "true") | dict.fromkeys(_FALSE, "false"))
"""What was once true or false: every word for either is still read."""


def several_of(what: str, known: Collection[str]) -> SettingKind:
    """A list of names out of `known`, ignoring case."""

    def parse(text: str, _: PathContext) -> tuple[str, ...]:
        named = tuple(dict.fromkeys(item.strip().lower() for item in text.split(",") if item.strip()))
        for name in named:
            if name not in known:
                from difflib import get_close_matches  # noqa: PLC0415  # the guard reads settings too, in milliseconds

                nearest = get_close_matches(name, known, n=1)
                said = f" Did you mean {nearest[0]}?" if nearest else ""
                raise BadValue(f"{name!r:.100} is no {what}.{said}")
        return named

    return SettingKind(label="list", expected=f"names of {what}s with commas between them", parse=parse)


def matching(label: str, pattern: str, expected: str) -> SettingKind:
    """Text that a regular expression matches as a whole."""

    def parse(text: str, _: PathContext) -> str:
        if not re.fullmatch(pattern, text):
            raise BadValue("")
        return text

    return SettingKind(label=label, expected=expected, parse=parse)


WORD = matching("word", r"[A-Za-z0-9_.-]{1,64}", "a word of letters, digits, `_`, `.` and `-`, at most 64")
WINDOW_NAME = matching("name", r"[^\x00-\x1f\x7f]{1,128}", "one line of text, at most 128 characters")
AGENT_NAME = matching("name", r"[A-Za-z][A-Za-z0-9_-]{0,63}", "a letter, then letters, digits, `_` or `-`, at most 64")


LINE = matching("text", r"[^\x00-\x1f\x7f]{1,200}", "one line of text, at most 200 characters")

UUID = matching("UUID", r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", "a UUID, as `uuidgen` prints it")


def _git_identity(text: str, _: PathContext) -> str:
    _refuse_control_characters(text)
    if "<" in text or ">" in text:
        raise BadValue("Git cannot store `<` or `>` in it.")
    return text


GIT_IDENTITY = SettingKind(label="text", expected="one line of text without `<` and `>`", parse=_git_identity)


def _path(text: str, context: PathContext) -> Path:
    _refuse_control_characters(text)
    if text == "~" or text.startswith("~/"):
        text = f"{context.home}{text[1:]}"
    elif text.startswith("~"):
        raise BadValue("Only your own home can be written as `~`.")
    return Path(os.path.abspath(context.folder / text))  # noqa: PTH100  # resolve() would follow symbolic links


def _folder(text: str, context: PathContext) -> Path:
    path = _path(text, context)
    if path.exists() and not path.is_dir():
        raise BadValue("There is a file of that name.")
    return path


def _file(text: str, context: PathContext) -> Path:
    path = _path(text, context)
    if path.is_dir():
        raise BadValue("There is a folder of that name.")
    return path


FOLDER = SettingKind(label="folder", expected="a folder, which need not exist yet", parse=_folder)
FILE = SettingKind(label="file", expected="a file", parse=_file)


def _sqlite(text: str, context: PathContext) -> str:
    scheme, separator, rest = text.partition("://")
    if separator:
        if scheme.lower() not in ("sqlite", "sqlite+aiosqlite", "sqlite+pysqlite"):
            raise BadValue("The store is SQLite; other databases are not supported.")
        # SQLAlchemy's form: three slashes before a relative path, four before an absolute one.
        if not rest.startswith("/"):
            raise BadValue("Write three slashes before a relative path, four before an absolute one.")
        rest = rest[1:]
    else:
        rest = text
    if rest in ("", ":memory:") or "?" in rest:
        raise BadValue("The store is a file, and takes no options: name just the file.")
    return f"sqlite:///{_file(rest, context)}"


SQLITE = SettingKind(
    label="SQLite path or URL", expected="the path of an SQLite file, or sqlite:///PATH", parse=_sqlite
)


def _address(text: str, _: PathContext) -> str:
    import ipaddress  # noqa: PLC0415  # hooks start without it

    if text.lower() == "localhost":
        return "localhost"
    try:
        return str(ipaddress.ip_address(text.removeprefix("[").removesuffix("]")))
    except ValueError:
        raise BadValue("127.0.0.1 is this machine only, 0.0.0.0 every network it is in.") from None


ADDRESS = SettingKind(label="address", expected="an IP address or localhost", parse=_address)


def _url_path(text: str, _: PathContext) -> str:
    path = text.rstrip("/")
    if not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", path) or ".." in path:
        raise BadValue("Begin with `/`; letters, digits, `.`, `_`, `~` and `-` may follow.")
    if path.split("/")[1] in _OUR_PATHS:
        raise BadValue(f"These are taken: {', '.join('/' + word for word in _OUR_PATHS)}.")
    return path


URL_PATH = SettingKind(label="path", expected="a URL path such as /mcp", parse=_url_path)


def _hosts(text: str, _: PathContext) -> tuple[str, ...]:
    hosts = tuple(dict.fromkeys(item.strip().lower() for item in text.split(",") if item.strip()))
    for host in hosts:
        if not re.fullmatch(r"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:[0-9]{1,5})?|[0-9a-f:.]+", host):
            raise BadValue(f"{host!r:.100} is no host name; leave out scheme, path and wildcards.")
    if not hosts:
        raise BadValue("")
    return hosts


HOSTS = SettingKind(label="list", expected="host names with commas between them", parse=_hosts)


def _globs(text: str, _: PathContext) -> tuple[str, ...]:
    _refuse_control_characters(text)
    return tuple(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))


GLOBS = SettingKind(label="list", expected="patterns with *, ? and [] with commas between them", parse=_globs)


def _http_url(text: str, _: PathContext) -> str:
    if not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", text, re.IGNORECASE):
        raise BadValue("Leave out what follows the path.")
    return text


def _shared_url(text: str, _: PathContext) -> str:
    """Other programs read the name too, and know other forms: whether it is a URL for us is asked where it is used."""
    _refuse_control_characters(text)
    return text


SHARED_URL = SettingKind(label="URL", expected="a URL that begins with http:// or https://", parse=_shared_url)
URL = SettingKind(label="URL", expected="a URL that begins with http:// or https://", parse=_http_url)


def _secret(text: str, _: PathContext) -> Secret:
    if not re.fullmatch(r"[!-~]{1,4096}", text):
        raise BadValue("It travels in an HTTP header.")
    return Secret(text)


SECRET = SettingKind(
    label="secret", expected="visible ASCII characters without blanks, at most 4096", parse=_secret, secret=True
)


def parse_key(text: str, _: PathContext) -> Secret:
    """A provider's key: its form is the provider's own business."""
    _refuse_control_characters(text)
    return Secret(text)


def parse_redis_url(text: str, _: PathContext) -> Secret:
    if not re.fullmatch(r"rediss?://[!-~]{1,1000}", text):
        raise BadValue("")
    return Secret(text)


def _path_or_slug(text: str, context: PathContext) -> str:
    _refuse_control_characters(text)
    return str(_path(text, context)) if text.startswith(("/", "~", ".")) else text


PATH_OR_SLUG = SettingKind(label="path or slug", expected="a project's path or its slug", parse=_path_or_slug)


Values = Mapping[str, object]
"""The values of the rows before, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One setting. `default` is its text, empty for none; `computed` makes a default out of earlier rows' values,
    and `default` then only describes it. `client` rows are read by what runs in other people's repositories too.
    Of a `said` row a text that a client left unfilled (`$NAME`) counts as not given.
    """

    name: str
    kind: SettingKind
    default: str
    does: str
    group: str
    client: bool = False
    said: bool = False
    computed: Callable[[Values], object] | None = None

    @property
    def attribute(self) -> str:
        return self.name.lower()
