"""Templates and what they may use. Everything that is put into one is escaped, and made visible first."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.web import addresses
from mcp_agent_mail.web.assets import asset_set
from mcp_agent_mail.web.render import words
from mcp_agent_mail.web.render.body_work import one_page
from mcp_agent_mail.web.render.figure_lines import area
from mcp_agent_mail.web.render.graph_lines import graph_drawing
from mcp_agent_mail.web.render.markdown import body_html
from mcp_agent_mail.web.render.marks import marked


def render(template: str, model: Mapping[str, object]) -> bytes:
    """The whole page. A name that the model lacks is a bug, and raises."""
    with one_page():
        return environment().get_template(template).render(model).encode("utf-8", "replace")


@cache
def environment() -> Environment:
    """Made once: templates are compiled at their first use."""
    made = Environment(
        loader=PackageLoader("mcp_agent_mail.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=[],
    )
    made.globals.update(
        asset=asset_set().url,
        message_url=addresses.message_url,
        thread_url=addresses.thread_url,
        reply_url=addresses.reply_url,
        compose_url=addresses.compose_url,
        agent_url=addresses.agent_url,
        project_url=addresses.project_url,
        with_query=addresses.with_query,
        area_chart=area,
        graph_drawing=graph_drawing,
    )
    made.filters.update(
        markdown=body_html,
        marked=marked,
        as_written=_as_written,
        iso=iso,
        age=words.age,
        left=words.left,
        moment=words.moment,
        clock=words.clock,
        size=words.size,
        counted=words.counted,
        hue=words.hue_of,
        initials=words.initials_of,
    )
    return made


def _as_written(text: str) -> Markup:
    """What the person wrote, to be sent again as it is: escaped, and nothing of it written out."""
    return Markup(escape(text))  # noqa: S704  # it is escaped here


def _shown(value: object) -> object:
    """Text of peers has its control and reordering characters written out; nothing is shown of None."""
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
