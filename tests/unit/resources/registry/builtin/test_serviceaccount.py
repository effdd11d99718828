"""Strategy of ServiceAccounts."""

from typing import Any

from apiext.resources.registry.builtin.core import SERVICE_ACCOUNT_KIND
from apiext.resources.registry.request_context import RequestContext

CONTEXT = RequestContext()
ANNOTATED = {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}


def _account(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "namespace": "n"} | metadata}


def test_keeps_names_of_secrets_only() -> None:
    """Reduce references to secrets to their names."""
    account = _account() | {"secrets": [{"name": "a", "uid": "u"}, {"kind": "Secret"}]}
    SERVICE_ACCOUNT_KIND.strategy.prepare_for_update(CONTEXT, account, account)

    assert account["secrets"] == [{"name": "a"}, {}]


def test_warns_about_the_deprecated_annotation_once() -> None:
    """Warn when the annotation is new."""
    strategy = SERVICE_ACCOUNT_KIND.strategy

    assert "deprecated in v1.32+" in strategy.warnings_on_create(CONTEXT, _account(**ANNOTATED))[0]
    assert len(strategy.warnings_on_update(CONTEXT, _account(**ANNOTATED), _account())) == 1
    assert strategy.warnings_on_update(CONTEXT, _account(**ANNOTATED), _account(**ANNOTATED)) == []
