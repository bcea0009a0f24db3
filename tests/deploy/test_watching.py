"""Alert rules and the dashboard ask for figures that the server gives, and for no others."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.programs import require_program
from tests.pages.blocks import ROOT
from tests.served import Served

ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboard.json"
_OF_THE_SCRAPE = {"up"}
_LABELS_OF_THE_SCRAPE = {"job", "instance"}
_WORDS = set("and or unless by without on ignoring group_left group_right bool offset".split())
_SUFFIXES = {"histogram": ("_bucket", "_count", "_sum"), "summary": ("", "_count", "_sum")}


@dataclass(frozen=True, slots=True)
class Given:
    """What a server's page has: names of series, and names of labels."""

    names: set[str]
    labels: set[str]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Given:
    """Of a server with everything on that has figures of its own."""
    settings = {
        "INSTRUMENTATION_ENABLED": "true",
        "POSTAL_ENABLED": "true",
        "WEBHOOK_URLS": "https://hooks.example.org/mail",
        "WEBHOOK_SECRET": "a-secret-of-thirty-two-characters-or-more",
    }
    with (
        Served(tmp_path_factory.mktemp("watched") / "root", port=None, **settings) as server,
        server.connect() as connection,
    ):
        connection.call("ensure_project", human_key="/code/app")
        connection._http.request("GET", "/metrics")
        page = connection._http.getresponse().read().decode()
    typed = re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE)
    names = {name + suffix for name, kind in typed for suffix in _SUFFIXES.get(kind, ("",))}
    return Given(names, set(re.findall(r"[{,](\w+)=\"", page)) | {"le", "door", "quantile"})


def alert_expressions() -> list[str]:
    text = ALERTS.read_text()
    expressions = re.findall(r"^ +expr: (.+)$", text, re.MULTILINE)
    assert len(expressions) == text.count("- alert: ") > 0, "each alert has its expression, on one line"
    return expressions


def panels() -> list[dict[str, Any]]:
    """Any: a dashboard's JSON."""
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def panel_expressions() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def names_in(expression: str) -> set[str]:
    """The series that an expression of PromQL asks for."""
    text = re.sub(r'"[^"]*"', "", expression)
    text = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", text)
    text = re.sub(r"\b(by|without|on|ignoring)\s*\([^)]*\)", "", text)
    found = re.findall(r"(?<![\w.$])([a-zA-Z_:][\w:]*)\b(?!\s*\()", text)
    return {name for name in found if name not in _WORDS}


def labels_in(expression: str) -> set[str]:
    grouped = re.findall(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)", expression)
    matched = re.findall(r"[{,]\s*(\w+)\s*(?:=|!=|=~|!~)", expression)
    return {label.strip() for group in grouped for label in group.split(",")} | set(matched)


@pytest.mark.parametrize(
    ("expression", "names", "labels"),
    [
        ('sum by (le) (rate(a_bucket{tool!~"x|y",job="$job"}[5m])) > 1e9', {"a_bucket"}, {"le", "tool", "job"}),
        ("time() - b{} / on (i) c unless d offset 5m", {"b", "c", "d"}, {"i"}),
        ("histogram_quantile(0.99, e) > 0 or f == 0", {"e", "f"}, set()),
    ],
)
def test_names_are_found_in_expressions(expression: str, names: set[str], labels: set[str]) -> None:
    assert names_in(expression) - {"m"} == names
    assert labels_in(expression) == labels


@pytest.mark.parametrize("expressions", [alert_expressions, panel_expressions])
def test_only_figures_that_exist_are_asked_for(given: Given, expressions: Any) -> None:
    asked = {name for expression in expressions() for name in names_in(expression)}
    labels = {label for expression in expressions() for label in labels_in(expression)}

    assert asked - given.names - _OF_THE_SCRAPE == set()
    assert labels - given.labels - _LABELS_OF_THE_SCRAPE == set()


def test_panels_have_numbers_of_their_own_and_do_not_cover_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells

    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_every_alert_says_what_to_do() -> None:
    alerts = ALERTS.read_text().split("- alert: ")[1:]

    for alert in alerts:
        for part in ("labels: {severity: ", "summary: ", "description: "):
            assert alert.count(part) == 1, alert


@pytest.mark.deploy
def test_promtool_reads_the_alerts_and_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    rules = [{"record": f"a:{number}", "expr": text} for number, text in enumerate(panel_expressions())]
    text = json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}).replace("$__rate_interval", "5m")
    (tmp_path / "dashboard.yaml").write_text(text)
    done = subprocess.run(
        [require_program("promtool"), "check", "rules", str(ALERTS), str(tmp_path / "dashboard.yaml")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert f"SUCCESS: {len(rules)} rules found" in done.stdout
