"""Where settings come from: command line, environment, one `.env`, default. Standard library only.

Nothing here asks the process for its environment: it is handed in, so that a reading can be
repeated, tested and explained. Every mistake is collected; the caller raises them together.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from mcp_agent_mail.core.home_folder import home_folder
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings import kinds, names
from mcp_agent_mail.core.settings.env_file import EnvFile, read_env_file
from mcp_agent_mail.core.settings.kinds import MASK, BadValue, PathContext, Row, mask_url_password
from mcp_agent_mail.core.settings.url_text import mask_url_paths
from mcp_agent_mail.core.unfilled_text import said

COMMAND_LINE = "command line"
HANDED_SOCKET = "the socket that was handed over by LISTEN_FDS"
ENVIRONMENT = "environment"
DEFAULT = "default"
ENV_FILE_NAME = "AGENT_MAIL_ENV_FILE"

_SHOWN_LENGTH = 100
_NAMED = 3
_SECRET_WORDS = ("TOKEN", "SECRET", "PASSWORD", "API_KEY")
_OTHERS_MAY_READ = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A value that cannot be used. `value` is masked where it is secret."""

    name: str
    value: str
    place: str
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.value} ({self.place}): expected {self.expected}. {self.hint}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingNotice:
    """Something to say about a setting that stops nobody. A warning is one that should be acted on."""

    level: Literal["notice", "warning"]
    name: str
    message: str
    place: str

    def __str__(self) -> str:
        return f"{self.name} ({self.place}): {self.message}"


class SettingsError(Exception):
    """All the mistakes at once. A command line ends with exit code 78 (`os.EX_CONFIG`)."""

    def __init__(self, mistakes: Iterable[Mistake], notices: Iterable[SettingNotice] = ()) -> None:
        self.mistakes = tuple(mistakes)
        self.notices = tuple(notices)
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A text that was found for a setting. `name` is the name it was found under."""

    name: str
    text: str
    place: str
    folder: Path


@dataclass(slots=True)
class SettingFindings:
    """What reading the settings brings to light."""

    mistakes: list[Mistake] = field(default_factory=list)
    notices: list[SettingNotice] = field(default_factory=list)
    passed_over: SettingNotice | None = None
    """Of the notices the one about a `./.env` that speaks to us and is not read."""

    def mistake(self, given: Given, expected: str, hint: str = "") -> None:
        """Note a value that cannot be used: once, however many checks find it."""
        if any((known.name, known.place) == (given.name, given.place) for known in self.mistakes):
            return
        self.mistakes.append(
            Mistake(
                name=given.name,
                value=shown_text(given.name, given.text),
                place=given.place,
                expected=expected,
                hint=hint,
            )
        )

    def notice(self, name: str, message: str, place: str) -> None:
        self.notices.append(SettingNotice(level="notice", name=name, message=message, place=place))

    def warning(self, name: str, message: str, place: str) -> None:
        self.notices.append(SettingNotice(level="warning", name=name, message=message, place=place))


def shown_text(name: str, text: str) -> str:
    """A raw text as a message may quote it: secrets masked, cut to a bearable length."""
    # A mistyped name may hold a secret too.
    meant = {name, names.nearest_setting(name)}
    if any(word in name for word in _SECRET_WORDS) or meant & names.SECRETS:
        return MASK
    shown = mask_url_paths(text) if meant & names.HIDING_PATHS else mask_url_password(text)
    return repr(shown if len(shown) <= _SHOWN_LENGTH else f"{shown[:_SHOWN_LENGTH]}…")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Everything that may hold a setting's text. `file_values` is what the chosen `.env` says."""

    environ: Mapping[str, str]
    overrides: Mapping[str, str]
    file: EnvFile | None
    file_values: Mapping[str, str]
    cwd: Path
    home: Path
    overridden_by: str = COMMAND_LINE

    def find(self, name: str) -> Given | None:
        """The text that counts for this very name; an empty one counts as not given."""
        if text := self.overrides.get(name, "").strip():
            return Given(name=name, text=text, place=self.overridden_by, folder=self.cwd)
        if text := self.environ.get(name, "").strip():
            return Given(name=name, text=text, place=ENVIRONMENT, folder=self.cwd)
        if name != ENV_FILE_NAME and self.file is not None and (text := self.file_values.get(name, "")):
            return Given(name=name, text=text, place=self.file.place(name), folder=self.file.path.parent)
        return None

    def find_former(self, name: str) -> Given | None:
        """The text under a former name of the setting `name`."""
        for former, today in names.FORMER.items():
            if today == name and (given := self.find(former)) and (former != "HOST" or _is_address(given)):
                return given
        return None


def _is_address(given: Given) -> bool:
    """Shells export HOST as the machine's name: only an address can have been meant for us."""
    try:
        kinds.ADDRESS.parse(given.text, PathContext(folder=given.folder, home=given.folder))
    except BadValue:
        return False
    return True


ReadValues = Callable[[Path], Mapping[str, str]]


def open_sources(
    environ: Mapping[str, str],
    findings: SettingFindings,
    *,
    overrides: Mapping[str, str],
    env_file: Path | None,
    cwd: Path | None,
    read_values: ReadValues | None = None,
    overridden_by: str = COMMAND_LINE,
) -> Sources:
    """Choose and read the one `.env`: never the one in `cwd` by itself, which whoever wrote the repository wrote too.

    `cwd=None` is for what runs in other people's repositories: a `./.env` is not even mentioned there.
    `read_values` reads the values; without it they are those of `read_env_file`.
    """
    home = Path(home_folder(environ))
    start = cwd or Path.cwd()
    file = _chosen_file(environ, findings, env_file=env_file, start=start, home=home)
    if cwd is not None:
        _mention_passed_over(cwd / ".env", file, findings)
    if file is None:
        values: Mapping[str, str] = {}
    else:
        _judge_file(file, findings)
        values = file.values()
        if read_values is not None:
            read = read_values(file.path)
            values = {name: read[name] for name in values}
    return Sources(
        environ=environ,
        overrides=overrides,
        file=file,
        file_values=values,
        cwd=start,
        home=home,
        overridden_by=overridden_by,
    )


def find_env_file(environ: Mapping[str, str], *, env_file: Path | None, cwd: Path) -> Path:
    """Where the one `.env` that counts lies, whether it is there or not. Raises SettingsError for a name of it that is
    no file's.
    """
    home = Path(home_folder(environ))
    given = _naming(environ, env_file, cwd)
    if given is None:
        return _at_home(home)
    findings = SettingFindings()
    try:
        path = kinds.FILE.parse(given.text, PathContext(folder=given.folder, home=home))
    except BadValue as bad:
        findings.mistake(given, kinds.FILE.expected, str(bad))
        raise SettingsError(findings.mistakes) from bad
    assert isinstance(path, Path)
    return path


def _naming(environ: Mapping[str, str], env_file: Path | None, start: Path) -> Given | None:
    """What names the file: `--env-file`, else AGENT_MAIL_ENV_FILE; None where nothing does."""
    if env_file is not None:
        return Given(name="--env-file", text=str(env_file), place=COMMAND_LINE, folder=start)
    if text := environ.get(ENV_FILE_NAME, "").strip():
        return Given(name=ENV_FILE_NAME, text=text, place=ENVIRONMENT, folder=start)
    return None


def _at_home(home: Path) -> Path:
    return home / ".config" / "mcp-agent-mail" / ".env"


def _chosen_file(
    environ: Mapping[str, str], findings: SettingFindings, *, env_file: Path | None, start: Path, home: Path
) -> EnvFile | None:
    """`--env-file`, AGENT_MAIL_ENV_FILE, the one in the home folder: the first that counts."""
    given = _naming(environ, env_file, start)
    return _optional_file(_at_home(home), findings) if given is None else _required_file(given, findings, home)


def _mention_passed_over(here: Path, chosen: EnvFile | None, findings: SettingFindings) -> None:
    """Say once that `./.env` speaks to us and is not read. It may be anybody's: what cannot be read is not told."""
    if chosen is not None and chosen.path.absolute() == here.absolute():
        return
    file = _optional_file(here, SettingFindings())
    spoken = [line.name for line in file.lines] + [fault.name for fault in file.faults] if file else []
    ours = [name for name in dict.fromkeys(spoken) if names.is_ours(name)]
    if not ours:
        return
    ours.sort(key=lambda name: name != "STORAGE_ROOT")
    more = f" and {len(ours) - _NAMED} more" if len(ours) > _NAMED else ""
    findings.notice(
        f"{', '.join(ours[:_NAMED])}{more}",
        "This file was not read: a repository does not choose where your tokens go or how your server listens. "
        "If it is yours, name it: AGENT_MAIL_ENV_FILE=.env for every command, or --env-file .env for serve and config.",
        str(here),
    )
    findings.passed_over = findings.notices[-1]


def _required_file(given: Given, findings: SettingFindings, home: Path) -> EnvFile | None:
    try:
        path = kinds.FILE.parse(given.text, PathContext(folder=given.folder, home=home))
        assert isinstance(path, Path)
        return read_env_file(path)
    except BadValue as bad:
        findings.mistake(given, kinds.FILE.expected, str(bad))
    except OSError as error:
        hint = f"It is {error.strerror}: name a file." if error.errno == errno.EINVAL else f"{error.strerror}."
        findings.mistake(given, "a file that can be read", hint)
    except UnicodeDecodeError:
        findings.mistake(given, "a text file in UTF-8")
    return None


def _optional_file(path: Path, findings: SettingFindings) -> EnvFile | None:
    """None where there is none. One that cannot be read is passed over with a warning."""
    try:
        return read_env_file(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        findings.warning(".env", f"It was passed over: {error.strerror}.", str(path))
    except UnicodeDecodeError:
        findings.warning(".env", "It was passed over: it is not UTF-8.", str(path))
    return None


def _judge_file(file: EnvFile, findings: SettingFindings) -> None:
    """What is wrong with the file itself. Lines about names that are not ours are not our business."""
    for fault in file.faults:
        if _concerns_us(fault.name):
            place = f"{file.path}:{fault.number}"
            given = Given(name=fault.name, text=fault.text, place=place, folder=file.path.parent)
            findings.mistake(given, fault.expected, fault.hint)
    for name, numbers in file.duplicates().items():
        if _concerns_us(name):
            earlier = ", ".join(str(number) for number in numbers[:-1])
            findings.notice(name, f"It stands more than once; line {earlier} does not count.", file.place(name))
    if ENV_FILE_NAME in file.values():
        findings.notice(ENV_FILE_NAME, "It counts in the environment only.", file.place(ENV_FILE_NAME))
    secrets = [name for name, value in file.values().items() if value and name in names.SECRETS]
    if secrets and _is_open_to_others(file.path):
        findings.warning(
            secrets[0], f"Others can read this file and its secrets: run `chmod 600 {file.path}`.", str(file.path)
        )


def _concerns_us(name: str) -> bool:
    return name in names.KNOWN or name.startswith(names.OUR_PREFIXES)


def _is_open_to_others(path: Path) -> bool:
    mode = os.stat(path).st_mode  # noqa: PTH116  # one call for type and permissions
    return stat.S_ISREG(mode) and bool(mode & _OTHERS_MAY_READ)


def find_row(row: Row, sources: Sources, findings: SettingFindings) -> Given | None:
    """The text for a row, under its name or a former one. None also for what a client left unfilled in a `said` row."""
    given, former = sources.find(row.name), sources.find_former(row.name)
    if former is not None:
        used = "is ignored, because that is set" if given else "is used"
        findings.notice(former.name, f"A former name of {row.name}; it {used}.", former.place)
    found = given or former
    return None if found is not None and row.said and said(found.text) is None else found


def parse_rows(
    rows: Iterable[Row], sources: Sources, findings: SettingFindings
) -> tuple[dict[str, object], dict[str, Given]]:
    """The value of every row (its default where the text is a mistake) and the texts that were given."""
    values: dict[str, object] = {}
    givens: dict[str, Given] = {}
    for row in rows:
        given = find_row(row, sources, findings)
        if given is not None:
            givens[row.name] = given
            context = PathContext(folder=given.folder, home=sources.home)
            try:
                values[row.name] = row.kind.parse(given.text, context)
                continue
            except BadValue as bad:
                findings.mistake(given, row.kind.expected, str(bad))
        values[row.name] = _default_of(row, values, sources)
    return values, givens


def _default_of(row: Row, values: Mapping[str, object], sources: Sources) -> object:
    if row.computed is not None:
        return row.computed(values)
    if not row.default:
        return None
    return row.kind.parse(row.default, PathContext(folder=sources.cwd, home=sources.home))
