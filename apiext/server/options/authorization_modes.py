"""Names of the values of `--authorization-mode`."""

from typing import Final

ALWAYS_ALLOW: Final = "AlwaysAllow"
RBAC: Final = "RBAC"
WEBHOOK: Final = "Webhook"
FRONT_PROXY: Final = "FrontProxy"
MODES: Final = (ALWAYS_ALLOW, FRONT_PROXY, RBAC, WEBHOOK)
