"""Values of --enable-admission-plugins and --disable-admission-plugins."""

import pytest

from apiext.server.options.admission_plugins import AdmissionPlugins
from tests.support.captured_logs import logged


def test_rejects_plugins() -> None:
    """Reject unknown plugins, and plugins that are both enabled and disabled, in the reference's words."""
    plugins = AdmissionPlugins(frozenset({"B", "A", "PodSecurity"}), frozenset({"A", "NamespaceExists"}))

    assert plugins.problems() == [
        'enable-admission-plugins plugin "A" is unknown',
        'enable-admission-plugins plugin "B" is unknown',
        'disable-admission-plugins plugin "A" is unknown',
        "[A] in enable-admission-plugins and disable-admission-plugins overlapped",
    ]


def test_logs_plugins_without_effect(caplog: pytest.LogCaptureFixture) -> None:
    """Log enabled plugins that are not implemented, apart from those that never decide about custom resources."""
    AdmissionPlugins(frozenset({"NamespaceLifecycle", "PodSecurity", "AlwaysDeny"}), frozenset({"EventRateLimit"})).log_warnings()

    assert logged(caplog) == [
        {"event": "admission plugins are not implemented, and do not check requests", "plugins": "AlwaysDeny"},
        {"event": "admission plugins are for resources that this server does not serve", "plugins": "PodSecurity"},
    ]
