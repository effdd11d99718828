"""Names of the values of `--authorization-mode`."""

from typing import Final

ALWAYS_ALLOW: Final = "AlwaysAllow"
RBAC: Final = "RBAC"
WEBHOOK: Final = "Webhook"
MODES: Final = (ALWAYS_ALLOW, RBAC, WEBHOOK)
