"""What a connection asks for beside its calls: a tool profile and an output format, by header or in the URL."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.profiles import FULL, Profiles, ToolProfile
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.rendering.formats import PLAIN, Output, parse_format

_PROFILE = b"x-tool-profile"
_FORMAT = b"x-output-format"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsePreferences:
    """Of one request. In a session each request brings its own, since clients repeat URL and headers."""

    profile: ToolProfile = FULL
    output: Output = PLAIN


NO_WISHES = ResponsePreferences()


class Connections:
    """Reads a request's wishes. `output` is the server's own choice; `/rpc` is not subject to the server's choices."""

    def __init__(self, profiles: Profiles, output: Output = PLAIN) -> None:
        self._profiles = profiles
        self._of_mcp = ResponsePreferences(profile=profiles.default, output=output)
        self._of_rpc = NO_WISHES

    def wishes(self, query: Mapping[str, str], headers: Headers, *, is_rpc: bool) -> ResponsePreferences:
        """The URL beats the header, both beat the settings. Raises InvalidInput for a name that there is not."""
        usual = self._of_rpc if is_rpc else self._of_mcp
        return ResponsePreferences(profile=self._profile(query, headers, usual), output=_output(query, headers, usual))

    def _profile(self, asked: Mapping[str, str], headers: Headers, usual: ResponsePreferences) -> ToolProfile:
        name = asked.get("profile") or headers.get(_PROFILE, b"").decode("latin-1")
        return self._profiles.require(name) if name.strip() else usual.profile


def _output(asked: Mapping[str, str], headers: Headers, usual: ResponsePreferences) -> Output:
    if "format" in asked:
        return Output(format=parse_format(asked["format"]), source="query")
    name = headers.get(_FORMAT, b"").decode("latin-1")
    return Output(format=parse_format(name), source="header") if name.strip() else usual.output
