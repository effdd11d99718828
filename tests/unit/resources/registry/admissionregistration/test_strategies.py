"""Generations, status, defaults and warnings of webhook configurations and policies."""

from apiext.resources.registry.admissionregistration.kinds import VALIDATING_POLICY_KIND, VALIDATING_WEBHOOKS_KIND
from apiext.resources.registry.admissionregistration.strategies import ValidatingPolicyStatusStrategy
from tests.unit.resources.registry.admissionregistration.objects import CONTEXT, HOOK, RULE, configuration, new_errors, policy


def test_generations() -> None:
    """Count changes of the content only."""
    strategy, old = VALIDATING_WEBHOOKS_KIND.strategy, configuration(HOOK)
    same, other = configuration(HOOK), configuration(HOOK | {"timeoutSeconds": 1})
    for obj in (same, other):
        strategy.prepare_for_update(CONTEXT, obj, old)

    assert (same["metadata"]["generation"], other["metadata"]["generation"]) == (1, 2)


def test_status_is_kept_to_its_subresource() -> None:
    """Drop the status of a new policy, keep it in updates, and keep the rest in updates of the status."""
    stated = policy() | {"status": {"observedGeneration": 3}}
    VALIDATING_POLICY_KIND.strategy.prepare_for_create(CONTEXT, stated)
    assert stated["status"] == {}

    old, new = policy() | {"status": {"observedGeneration": 1}}, policy(failurePolicy="Ignore") | {"status": {"observedGeneration": 2}}
    VALIDATING_POLICY_KIND.strategy.prepare_for_update(CONTEXT, new, old)
    assert (new["status"], new["metadata"]["generation"]) == ({"observedGeneration": 1}, 2)
    new = policy(failurePolicy="Ignore") | {"status": {"observedGeneration": 2}}
    ValidatingPolicyStatusStrategy().prepare_for_update(CONTEXT, new, old)
    assert (new["spec"], new["status"]) == (old["spec"], {"observedGeneration": 2})


def test_defaults() -> None:
    """Set defaults in the order of the Go structs."""
    hook = configuration(HOOK | {"clientConfig": {"service": {"name": "s", "namespace": "n"}}})["webhooks"][0]

    assert list(hook) == [
        *("name", "clientConfig", "rules", "failurePolicy", "matchPolicy", "namespaceSelector", "objectSelector"),
        *("sideEffects", "timeoutSeconds", "admissionReviewVersions"),
    ]
    assert hook["rules"] == [RULE | {"scope": "*"}]
    assert hook["clientConfig"] == {"service": {"namespace": "n", "name": "s", "port": 443}}
    assert (hook["timeoutSeconds"], hook["failurePolicy"], hook["matchPolicy"]) == (10, "Fail", "Equivalent")


def test_reserved_names() -> None:
    """Refuse new objects with names of files, and warn about updates of old ones."""
    named = configuration(HOOK)
    named["metadata"]["name"] = "a.static.k8s.io"

    assert new_errors(VALIDATING_WEBHOOKS_KIND, named) == ["metadata.name"]
    (warning,) = VALIDATING_WEBHOOKS_KIND.strategy.warnings_on_update(CONTEXT, named, named)
    assert warning.startswith('metadata.name: names ending with ".static.k8s.io" are reserved')


def test_warns_about_rules_without_effect() -> None:
    """Name the resources that no webhook sees, once for each rule."""
    rule = RULE | {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews", "tokenreviews", "widgets"]}

    assert VALIDATING_WEBHOOKS_KIND.strategy.warnings_on_create(CONTEXT, configuration(HOOK | {"rules": [RULE, rule]})) == [
        "webhooks[0].rules[1]: tokenreviews.authentication.k8s.io is excluded from admission webhooks; this rule will have no effect"
    ]
