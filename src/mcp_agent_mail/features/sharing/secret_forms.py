"""The forms of secrets, each as a pattern.

A form takes time in proportion to the text, whatever that is: what repeats is bounded, or is tried once where a run of
its characters begins and gives none of them back.
"""

from __future__ import annotations

import re

from mcp_agent_mail.core.ids import TOKEN_PREFIXES
from mcp_agent_mail.core.lazy.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SecretForm:
    """`needles`: without any of them a text has none. What is replaced is the group `secret`, or all.

    A form that `is_any_case` is written in small letters, and `pattern_of_ascii` is for ASCII in small letters: to
    ignore case takes twice as long. It begins with letters, or with a class of few, and looks back behind them, so
    that a text is passed over quickly.
    """

    kind: str
    needles: tuple[str, ...]
    is_any_case: bool
    pattern: re.Pattern[str]
    pattern_of_ascii: re.Pattern[str]


def _form(kind: str, *needles: str, form: str) -> SecretForm:
    exact = re.compile(form)
    return SecretForm(kind, needles, is_any_case=False, pattern=exact, pattern_of_ascii=exact)


def _in_any_case(kind: str, *needles: str, form: str) -> SecretForm:
    return SecretForm(
        kind,
        needles,
        is_any_case=True,
        pattern=re.compile(form, re.IGNORECASE),
        pattern_of_ascii=re.compile(form),
    )


def _key(*needles: str, form: str) -> SecretForm:
    return _form("provider key", *needles, form=form)


def _begun(begin: str, before: str = "[A-Za-z0-9]") -> str:
    """`begin`, whose length is fixed, where none of `before` stands before it, or what does ends an escape, as in `%3D`
    or a line's end in JSON.
    """
    return begin + _apart(begin, before)


def _apart(begin: str, before: str = "[A-Za-z0-9]") -> str:
    """The same, once `begin` was passed over."""
    hexadecimal = "[0-9A-Fa-f]"
    escapes = (r"\\[bfnrt]", rf"%{hexadecimal}{{2}}", rf"\\x{hexadecimal}{{2}}", rf"\\u{hexadecimal}{{4}}")
    return f"(?:(?<!{before}{begin}){''.join(f'|(?<={escape}{begin})' for escape in escapes)})"


_BLANK = r"[^\S\r\n]"
_KEYS = "api access private secret account auth encryption signing shared master license service".split()
# `PWD=/code/app` is where a shell stands; behind `;` it is part of what one connects with.
_NO_DIRECTORY = (
    r"(?!(?:(?<![;&?\w-]pwd)|(?<=oldpwd))=[\"']?"
    r"(?=[~/][\w.@+-]{0,64}/|/(?:app|code|home|root|src|tmp|work|workspace)\b)[\w.@+~/-]{1,400}+(?![^\s\"';)]))"
)
_NAMED = (
    # Each begins with a letter of its own, which is what it is looked for by.
    rf"(?:passw(?:or)?d|passphrase|passwd|pwd{_NO_DIRECTORY}|secret|token(?!s\b)|credential|cookie|dsn"
    rf"|session[_ -]?id|otp|connection[_ -]?string|{'|'.join(f'{one}[_ -]?key' for one in _KEYS)})"
)
_NAMES = ("pass", "pwd", "secret", "token", "credential", "cookie", "dsn", "session", "otp", "key", "connection")
_PASSES = ("pass", "Pass", "PASS")
_NAME = rf"{_NAMED}[\w-]{{0,30}}+[\"'\]]{{0,2}}{_BLANK}{{0,200}}"
_QUOTED = (
    r'"""[\s\S]{1,20000}?"""|' + r"'''[\s\S]{1,20000}?'''|``[^\n]{1,20000}?``"
    r'|"(?:[^"\\\n]|\\.|""){1,20000}"|' + r"'(?:[^'\\\n]|\\.|''){1,20000}'|`[^`\n]{1,20000}`"
)
# What a shell or a program puts together of several parts: `'a'"b"`, `'a'b`, `"a" "b"`, `"a" + "b"`.
_JOIN = (
    rf"(?:{_BLANK}{{0,20}}(?:\+|\|\||&|\\\r?\n){_BLANK}{{0,20}}|{_BLANK}\.{{1,2}}{_BLANK}|\.{{1,2}}|{_BLANK}{{1,20}})?"
)
# What follows is no part where it begins as what stands between two values does, or gets a value of its own.
_PART = (
    rf"{_JOIN}(?:\"(?![\s,;:)\]}}])(?:[^\"\\\n]|\\.|\"\"){{1,20000}}\"|'(?![\s,;:)\]}}])(?:[^'\\\n]|\\.|''){{1,20000}}')"
    r"|(?![\w.-]{1,60}\s{0,4}[:=])[\w$][^\s\"'`,;:(){}\[\]<>|&]{0,4096}+"
)
_JOINED = rf"(?:\"\"(?=')|''(?=\")){{0,4}}(?:{_QUOTED})(?>(?:{_PART}){{0,40}})"
_VALUE = rf"(?=[*_~]{{0,4}}[^\s*_~])(?:[bfru]{{1,2}}(?=[\"']))?(?P<secret>(?P<joined>{_JOINED})|\S+)"
_TAG = r"(?:!(?:<[^>\s]{1,200}>|[\w!:/.-]{0,200}+)|&[^\s,\[\]{}\"'`=&]{1,200}+)(?!\S)"
_EMPTY_LINES = r"(?>(?:[ \t]*+\r?\n)*)"
_ALONE = rf"{_BLANK}{{0,40}},?{_BLANK}{{0,40}}(?:[\r\n]|\Z)"
_NEXT_LINE = (
    # Fences and empty lines between the two, then a value that has its line to itself.
    rf"{_BLANK}{{0,40}}\\?\r?\n(?:[ \t>]{{0,20}}(?:```\w{{0,20}})?\r?\n){{0,2}}[ \t>]{{0,80}}(?=[^\s>])(?!\"\"\"|''')"
    rf"(?:(?={_QUOTED}{_ALONE})|(?![-#|<>+]+\s)(?=[^\s`\"'|][^\s(]{{2,}}+(?<![:,{{\[|]){_ALONE})"
    # Where it has no digit it may be a word of a sentence, or of a program: `if not token:`.
    r"(?:(?=\S{0,200}\d)|(?<=[ \t])(?<!> )(?!(?:break|continue|pass|raise|return|yield)\b)))"
)
# All that is set in behind the mark of a block in YAML, empty lines in it too.
_BLOCK = (
    rf"{_BLANK}{{1,40}}(?:{_TAG}{_BLANK}{{1,40}}){{0,3}}[|>][+-]?[1-9]?[+-]?"
    rf"(?:[ \t]{{1,80}}#[^\n]{{0,1000}}|[ \t]{{0,80}})"
    rf"\r?\n{_EMPTY_LINES}[ \t]+(?P<block>[^\s][^\n]*+(?>(?:\n{_EMPTY_LINES}[ \t]++[^\s][^\n]*+)*))"
)
# A value with what YAML says of it before it: its type, or a name for it.
_TAGGED = (
    rf"{_BLANK}{{1,40}}(?P<tagged>{_TAG}(?:{_BLANK}{{1,40}}{_TAG}){{0,2}}"
    rf"(?:(?:{_BLANK}{{1,40}}|{_BLANK}{{0,40}}\r?\n[ \t]{{1,80}}){_JOINED}|{_BLANK}{{1,40}}(?![|>#=])\S+"
    rf"|{_BLANK}{{0,40}}\r?\n[ \t]{{1,80}}(?![-#|<>+]+\s)\S+(?<![:,{{\[|])(?={_ALONE})))"
)
# A value with the type that a program says of it: `password: str = "x"`.
_TYPED = (
    rf"{_BLANK}{{0,20}}(?P<typed>(?:[\w.<>\[\]|?]{{1,60}}+="
    rf"|[\w&*.<>\[\]|? ]{{0,60}}(?:'static )?[\w.<>\[\]|?]{{1,60}} = )"
    rf"{_JOINED})"
)
# `pass` names a secret where it does not count, or call, what passes: `SMTP_PASS`, not `first_pass`.
_RUNS = (
    "a all analysis ask backward band blur both by can color compute depth did does dry each every fast final first"
    " forward full geometry has high is last light low main may multi must no not num number on one opt optimizer parse"
    " pct per percent post pre render scan second shadow should single slow test tests third to total two ui will"
).split()
_NO_RUN = "".join(
    rf"(?<!(?<![A-Za-z])(?i:{one})[_-](?i:pass))(?<!(?<![A-Za-z]){one}Pass)(?<!{one.title()}Pass)" for one in _RUNS
)
_PASS = (
    rf"[Pp](?:ass|ASS)(?:(?<=[A-Za-z0-9][_-](?i:pass))|(?<=[a-z0-9]Pass)){_NO_RUN}"
    r"(?:[_-]?(?:\d{1,4}|(?i:dev|new|old|prod|stage|staging|test))|)(?![\w-])"
)
_NO_SECRET = (
    r"(?![\"'`]?(?i:true|false|yes|no|on|off|ok|none|null|nil|undefined|pass|passed|fail|failed|skip|skipped"
    r"|[\d.,%/_]{{1,{digits}}}|int|float|str|string|bytes|bool|boolean|number)[\"'`]?(?![^\s,;)}}\]]))"
    # What a program calls.
    r"(?!(?<== )[A-Za-z_][\w.]{{0,80}}\([^\s)]{{0,200}})"
)
_PARAMETER = r"[\w-]{1,60}=(?:\\?\"[^\"\n]{0,2000}\"|[^\s,\"']{0,2000})"

_PARAMETERS = rf"{_PARAMETER}(?:{_BLANK}{{0,4}},\s{{0,20}}{_PARAMETER}){{0,40}}"

SECRET_FORMS = (
    _form(
        "private key",
        "PRIVATE KEY",
        "-Key-File",
        form=(
            r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
            r"(?:(?>(?:[^-]+|-(?!-{3,4} ?(?:BEGIN|END) ))*)-{4,5} ?END [^-\n]{0,60}-{4,5}"
            r"|(?:[^-]|-(?!-{3,4} ?BEGIN )){0,20000})"
            r"|PuTTY-User-Key-File-\d(?:[\s\S]{0,100000}?Private-MAC: ?[0-9a-f]+|[\s\S]{0,20000})"
        ),
    ),
    _form(
        "jwt",
        "eyJ",
        form=(
            r"(?<![\w-])(?>[\w-]*?(?=eyJ))"
            r"(?P<secret>eyJ[\w-]{5,}+\.(?:[\w-]{5,}(?:\.[\w-]*){0,3}|\.[\w-]+(?:\.[\w-]*){0,2}))"
        ),
    ),
    _in_any_case(
        "password in a URL",
        "@",
        form=(
            r"[a-z][a-z0-9+.-]{1,20}://(?:(?!\[)[^\s/?#:]{0,200}:"
            # With a slash in it only where it is no port, and what follows no path.
            r"(?P<secret>[^\s/]{1,500}(?=@)|(?!\d{1,5}[/?#]|[${%<])[^\s\"'`<>|\]]{1,500}?)|[^\s/?#@:]{16,500})@"
        ),
    ),
    _in_any_case(
        "webhook",
        "hooks.slack",
        "/api/webhooks/",
        "office.com/webhook",
        "office365.com/webhook",
        "webhook.office.com",
        form=(
            r"(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks"
            r"|webhook\.office\.com|outlook\.office(?:365)?\.com/webhook)/(?P<secret>[^\s\"'`<>)]{8,})"
        ),
    ),
    _form(
        "token of this program", *TOKEN_PREFIXES, form=rf"(?:{'|'.join(map(re.escape, TOKEN_PREFIXES))})[\w-]{{12,}}"
    ),
    _key("sk-", form=rf"{_begun('sk-')}[\w-]{{16,}}"),
    _key("_live_", "_test_", form=rf"{_begun('[srp]k_')}(?:live|test)_\w{{8,}}"),
    _key("whsec_", form=r"whsec_[\w+/=-]{12,}"),
    _key("ghp_", "gho_", "ghu_", "ghs_", "ghr_", form=r"gh[pousr]_\w{16,}"),
    _key("github_pat_", form=r"github_pat_\w{16,}"),
    _key("gl", form=r"gl(?:pat|dt|ptt|rt|rtr|soat|cbt|ft|imt|agent|oas|ffct|wt)-[\w.-]{12,}"),
    _key("GR1348941", form=r"GR1348941[\w-]{16,}"),
    _key("xox", "xapp-", form=r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w-]{8,}"),
    _key("AKIA", "ASIA", "ABIA", "ACCA", form=r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}"),
    _key("AIza", form=r"AIza[\w-]{28,}"),
    _key("ya29.", "GOCSPX-", "1//0", form=r"(?:ya29\.|GOCSPX-|1//0)[\w-]{16,}"),
    *(_key(prefix, form=rf"{_begun(prefix)}\w{{16,}}") for prefix in ("npm_", "hf_", "gsk_", "xai-", "r8_", "pplx-")),
    _key("pypi-", "testpypi-", form=r"pypi-[\w-]{16,}"),
    _key("dckr_", "doo_v1_", "dop_v1_", "dor_v1_", form=r"(?:dckr_(?:pat|oat)_|do[opr]_v1_)[\w-]{16,}"),
    _key("SG.", form=r"SG\.[\w-]{12,}+\.[\w-]{12,}"),
    _key("AC", "SK", form=rf"[SA][KC](?<=SK|AC){_apart('..')}[0-9a-f]{{32}}"),
    # Behind `bot`, as in the addresses that it is sent to.
    _key(":", form=rf"\d(?:(?<=bot.)|{_apart('.')})\d{{7,9}}:[\w-]{{32,}}"),
    _key(".", form=rf"[MNO]{_apart('.', '[A-Za-z0-9_.-]')}[\w-]{{22,27}}\.[\w-]{{6}}\.[\w-]{{25,}}"),
    _key("shp", form=r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}"),
    _key("lin_", "ntn_", "secret_", "figd_", "sbp_", form=r"(?:lin_(?:api|oauth)_|ntn_|secret_|figd_|sbp_)[\w-]{20,}"),
    # A name of a variable may begin so: one that is a key has a digit.
    _key("figu_", "figur_", form=rf"{_begun('fig')}ur?_(?=[\w-]{{0,60}}\d)[\w-]{{20,}}"),
    _key("api_org_", form=rf"{_begun('api_org_')}[A-Za-z0-9]{{20,}}"),
    _key("key-", form=rf"{_begun('key-')}[0-9a-f]{{24,}}"),
    _key("dapi", form=rf"{_begun('dapi')}[0-9a-f]{{24,}}"),
    _key("hvs.", "hvb.", "hvr.", form=r"hv[sbr]\.[\w-]{16,}"),
    _in_any_case("provider key", "age-secret-key-", form=r"age-secret-key-[0-9a-z]{20,}"),
    # Meta's and Square's.
    _key("EAA", form=rf"EAA(?:[CG]\w{{20,}}|{_apart('EAA', '[A-Za-z0-9+/]')}[A-Z][\w-]{{20,}})"),
    _key("sq0", "NRAK-", "fo1_", "ATATT", "ATCTT", form=r"(?:sq0[a-z]{3}-|NRAK-|fo1_|AT[AC]TT)[\w=-]{16,}"),
    _key("ATBB", form=rf"{_begun('ATBB')}[A-Za-z0-9]{{20,}}"),
    _key("NRII-", "NRIQ-", "NRJS-", form=rf"{_begun('NR')}(?:I[IQ]|JS)-[\w-]{{16,}}"),
    _key("fm1", "fm2", form=rf"{_begun('fm[12]')}[a-z]?_[\w+/=-]{{16,}}"),
    _key("pul-", "tskey-", "rubygems_", "sntry", form=r"(?:pul-|tskey-\w+-|rubygems_|sntry[a-z]_)[\w+/=-]{16,}"),
    _in_any_case(
        "authorization",
        "authorization",
        form=(
            rf"authorization[\"']?\s{{0,40}}(?:=>|:=|[:=]){_BLANK}{{0,40}}\s{{0,4}}[\"']?(?:[\w-]{{1,30}}{_BLANK}{{1,40}})?"
            rf"(?P<secret>{_PARAMETERS}|[^\s\"'`]{{4,}})"
        ),
    ),
    _in_any_case("authorization", "aws4-hmac-", form=rf"aws4-hmac-sha256\s{{1,4}}(?P<secret>{_PARAMETERS})"),
    _in_any_case("authorization", "bearer", form=r"bearer\s{1,40}(?P<secret>[\w.~+/=-]{12,})"),
    _in_any_case(
        "key=value",
        "cookie",
        form=(
            rf"cookie[\"']?{_BLANK}{{0,40}}[:=]{_BLANK}{{0,40}}[\"']?"
            # The whole header, where it holds several.
            r"(?P<secret>[\w.$-]{1,100}=(?:\"[^\"\n]{0,4000}\"|[^\s;\"'`]{0,4096}+);(?:=\"[^\"\n]{0,4000}\"|[^\r\n\"'`])*)"
        ),
    ),
    _in_any_case(
        "key=value",
        *_NAMES,
        form=(
            rf"{_NAME}(?:\??:(?:{_BLOCK}|{_TAGGED}|{_TYPED})"
            rf"|(?:(?::=|=>|={{1,3}}|[:\uff1a|]){_BLANK}{{0,200}}|[:=]{_NEXT_LINE}){_VALUE})"
        ),
    ),
    _form(
        "key=value",
        *_PASSES,
        form=(
            rf"{_PASS}[\"'\]]{{0,2}}{_BLANK}{{0,40}}(?::=|=>|={{1,3}}|[:|]){_BLANK}{{0,40}}"
            rf"{_NO_SECRET.format(digits=3)}{_VALUE}"
        ),
    ),
    # By itself in the environment and in an address, where it is no count of tests.
    _form(
        "key=value", "pass=", "PASS=", form=rf"(?:pass|PASS)(?<![\w-].{{4}})=(?!=){_NO_SECRET.format(digits=7)}{_VALUE}"
    ),
    # In quotes, or in a line of its own, with a digit or a mark in it.
    _form(
        "key=value",
        *_PASSES,
        form=(
            rf"[Pp]ass(?<![\w-].{{4}})[\"']?{_BLANK}{{0,9}}(?::=|=>|[:=]){_BLANK}{{0,9}}{_NO_SECRET.format(digits=7)}"
            r"(?P<secret>\"(?=[^\s\"]{0,200}[\d!#$%&*+@^])[^\s\"]{4,1000}\"|'(?=[^\s']{0,200}[\d!#$%&*+@^])[^\s']{4,1000}')"
        ),
    ),
    _form(
        "key=value",
        "--",
        form=(
            rf"{_begun('-', '[A-Za-z0-9_-]')}-(?:\w{{1,20}}-){{0,3}}pass{_NO_RUN}(?:{_BLANK}{{1,40}}|=)(?!-)"
            rf"{_NO_SECRET.format(digits=3)}{_VALUE}"
        ),
    ),
    # As OpenSSL takes it.
    _form("key=value", "-pass", form=rf"-pass(?:in|out)?{_BLANK}{{1,40}}[\"']?pass:{_VALUE}"),
    _in_any_case(
        "key=value",
        "--",
        form=(
            rf"{_begun('-', '[A-Za-z0-9_-]')}-?[\w-]{{0,30}}?{_NAMED}[\w-]{{0,30}}+"
            rf"{_BLANK}{{1,200}}(?:\\\r?\n{_BLANK}{{0,80}})?{_VALUE}"
        ),
    ),
    _in_any_case(
        "key=value",
        "pass",
        form=rf"pass(?:word|wd|phrase){_BLANK}{{1,40}}is(?:{_BLANK}|:){{1,40}}{_VALUE}",
    ),
)
