"""What a server imports for admission before any configuration exists, and for the version map before anybody looks at it."""

import subprocess
import sys
from typing import Final

_UNUSED: Final = (
    "apiext.resources.registry.admissionregistration",
    "apiext.api.serving.builtin.admissionregistration",
    "apiext.api.serving.static_manifests",
    "apiext.schema.cel",
    "apiext.api.admission.policy.",
    "apiext.api.admission.webhooks.",
    "apiext.api.admission.param_access",
    "apiext.server.version_map",
)


def test_a_server_without_configurations_imports_nothing_for_them() -> None:
    """Import neither kinds nor plugins of admission, nor the version map, with the composition of the server."""
    code = "import apiext.server.app, sys; print('\\n'.join(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.splitlines()

    assert "apiext.api.admission.configuration.index" in modules
    assert [name for name in modules if name.startswith(_UNUSED)] == []
