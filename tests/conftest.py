"""What every test needs: an environment that says nothing, and property tests without a clock."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from mcp_agent_mail.core.setting_names import KNOWN

# No test depends on how fast the machine is; a failure found once is found again.
settings.register_profile("agent-mail", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("agent-mail")

# Neither the settings of the person who runs the tests nor the repository they stand in reach the product.
for name in [name for name in os.environ if name in KNOWN or name.startswith("GIT_")]:
    del os.environ[name]
