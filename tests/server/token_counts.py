"""Counts the tokens of `tools/list` per profile, once per change of the tools: `make tokens`.

The counts, and the hash of what was counted, stand in docs/reference/tokens.json; `make test` only
compares the hash, so that it needs no tokenizer. The vocabulary comes with LiteLLM's wheel:
tiktoken would fetch it while running.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.server.reference_pages import REFERENCE, declared
from tests.server.tool_list import IDENTITY, fingerprint, listing, profiles

COUNTS = REFERENCE / "tokens.json"
ENCODING = "cl100k_base"
BUDGETS = {"full": 9_000, "core": 3_600, "minimal": 1_300}
MAKE = "make tokens"


def recorded() -> dict[str, Any]:
    counts: dict[str, Any] = json.loads(COUNTS.read_text(encoding="utf-8"))
    return counts


def _vocabulary() -> Path:
    found = find_spec("litellm")
    assert found is not None, "the dependency group tokens is not installed"
    assert found.origin is not None, found
    return Path(found.origin).parent / "litellm_core_utils" / "tokenizers"


def encoding() -> Any:  # Any: tiktoken, of the group tokens, is not installed where types are checked
    """The encoding that all counts of tokens are in; the group `tokens` must be installed."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(_vocabulary())
    tiktoken: Any = import_module("tiktoken")  # it reads its folder at import
    return tiktoken.get_encoding(ENCODING)


def count() -> dict[str, Any]:
    encode = encoding().encode
    specs, _ = declared()
    texts = {name: listing(specs, profile) for name, profile in profiles().items()}
    identified = {name: listing(specs, profile, IDENTITY) for name, profile in profiles().items()}
    return {
        "encoding": ENCODING,
        "profiles": {
            name: {
                "tools": len(json.loads(text)["tools"]),
                "tokens": len(encode(text)),
                "with_identity": len(encode(identified[name])),
                "budget": BUDGETS.get(name),
                "sha256": fingerprint(text),
            }
            for name, text in texts.items()
        },
    }


def main() -> int:
    counts = count()
    COUNTS.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    over = 0
    for name, row in counts["profiles"].items():
        budget = row["budget"]
        over += budget is not None and row["tokens"] > budget
        sys.stdout.write(
            f"{name:10} {row['tools']:3} tools {row['tokens']:6} tokens (budget {budget or 'none'}), "
            f"{row['with_identity']:6} for a connection that says who calls\n"
        )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
