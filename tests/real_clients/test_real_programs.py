"""The real programs of the agent CLIs read what `am setup` wrote: our server with its URL, and our hooks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, SERVER, read_contract
from tests.real_clients.looks import LOOKS, Look, Run
from tests.real_clients.programs import NotHad, Program, environment, install, programs
from tests.served import Served

pytestmark = pytest.mark.real_clients

SETUP_WITHIN_S = 120.0
_INSTALLED: dict[str, Path | NotHad] = {}
