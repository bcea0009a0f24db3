from __future__ import annotations

from importlib.util import cache_from_source, find_spec
from pathlib import Path

from benchmarks.stand import Stand


def test_what_servers_start_from_is_compiled_before_they_do(tmp_path: Path) -> None:
    spec = find_spec("mcp_agent_mail.image_converter")
    assert spec is not None
    assert spec.origin is not None
    compiled = Path(cache_from_source(spec.origin))
    compiled.unlink(missing_ok=True)

    with Stand(tmp_path, is_bound=False):
        assert compiled.exists()
