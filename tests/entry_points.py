"""Packages with entry points, installed as far as Python looks: a module, and its metadata beside it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from mcp_agent_mail.extending import GROUP


def install(site: Path, package: str, module: str, **points: str) -> Path:
    """`package` in the folder `site`, with the entry points (name: where it leads) and one module of its name."""
    name = package.replace("-", "_")
    (site / f"{name}.py").write_text(dedent(module))
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    rows = "".join(f"{point} = {name}:{leads}\n" for point, leads in points.items())
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{rows}")
    return site
