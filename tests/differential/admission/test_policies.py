"""Policies deny what the reference's deny, in its words."""

import itertools
from collections.abc import Iterator

import pytest

from hack.lib.differential.pair import Step
from tests.differential.cases import mutating_policies
from tests.differential.cases.admission_objects import PLAINS, RULE, THINGS, plain, thing
from tests.differential.cases.admission_other_kinds import CREATES, labelled
from tests.differential.cases.policy_cases import BANK, policy, step, updates
from tests.differential.cases.policy_compilation import COMPILED
from tests.differential.cases.policy_expressions import PARAMETER
from tests.differential.cases.policy_specs import specs
from tests.differential.cases.policy_verbs import EVERY, VERBS, verbs
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.guarded_pair import GuardedPair, must
from tests.differential.helpers.write_steps import MERGE
from tests.support.builders import admission

pytestmark = pytest.mark.slow
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def parametrized(guarded: GuardedPair) -> Iterator[GuardedPair]:
    """Create the parameters of the policies."""
    made = ((CONFIG_MAPS, PARAMETER), (PLAINS, plain("limit", replicas=4)), (THINGS, thing("limit", replicas=5)))
    for (_, side), (path, obj) in itertools.product(guarded.sides, made):
        must(side, Step("POST", path, obj))
    yield guarded
    for (_, side), (path, obj) in itertools.product(guarded.sides, made):
        side.raw(Step("DELETE", f"{path}/{obj['metadata']['name']}"))


def test_expressions(parametrized: GuardedPair) -> None:
    """Deny by hundreds of expressions as the reference does."""
    with parametrized.installed(*(one for case, expression in BANK.items() for one in policy(case, expression))):
        found = [f"{BANK[case]}: {line}" for case in BANK for line in parametrized.differences(step(case))]

    assert_none(found)


def test_compilation(guarded: GuardedPair) -> None:
    """Refuse policies whose expressions do not compile, with the reference's words."""
    policies = [policy(f"compiled-{number}", expression)[0] for number, expression in enumerate((*COMPILED, *BANK.values()))]
    path = f"{admission.collection('ValidatingAdmissionPolicy')}?dryRun=All"

    assert_none(guarded.compare(Step("POST", path, made) for made in policies))


def test_specs(parametrized: GuardedPair) -> None:
    """Word denials, find parameters and match bindings as the reference does."""
    made = specs()
    with parametrized.installed(*itertools.chain.from_iterable(made.values())):
        found = [f"{case}: {line}" for case in made for line in parametrized.differences(step(case))]

    assert_none(found)


def test_updates_and_deletions(parametrized: GuardedPair) -> None:
    """See the old object, subresources and the options of every verb."""
    shown = [{"expression": "false", "messageExpression": f"'{name}: ' + string({value})"} for name, value in VERBS.items()]
    made = policy("verbs", *shown, actions=["Warn"], **EVERY)
    with parametrized.installed(*made):
        assert_none(parametrized.compare(verbs()))


def test_mutations(parametrized: GuardedPair) -> None:
    """Make of objects what the reference's mutating policies make of them, and ask webhooks afterwards about the same."""
    made = mutating_policies.policies()
    webhooks = admission.mutating("after", admission.hook("after.example.com", RULE))
    with parametrized.installed(*itertools.chain.from_iterable(made.values()), webhooks):
        found = [f"{case}: {line}" for case in made for line in parametrized.differences(step(case))]

    assert_none(found)


def test_mutations_of_updates(parametrized: GuardedPair) -> None:
    """Mutate updates, patches and applies with the reference's field managers."""
    cases = ("apply-text", "apply-keyed", "apply-set", "patch-annotations", "spec-needed", "several", "spec-broken-last")
    made = [one for case in cases for one in mutating_policies.policies()[case]]
    with parametrized.installed(*made):
        assert_none([line for case in cases for line in parametrized.compare(updates(case))])


def test_mutations_of_other_kinds(guarded: GuardedPair) -> None:
    """Mutate objects with Go types, and refuse or skip what does not fit their types, as the reference does."""
    made = mutating_policies.of_other_kinds()
    with guarded.installed(*itertools.chain.from_iterable(made.values())):
        found = [f"{case}: {line}" for case in made for creation in CREATES for line in guarded.differences(labelled(creation, case=case))]

    assert_none(found)


def test_mutations_of_scales(parametrized: GuardedPair) -> None:
    """Refuse or skip mutations of scales of custom resources as the reference does, which has no type for them."""
    made = mutating_policies.of_scales()
    with parametrized.installed(*itertools.chain.from_iterable(made.values())):
        steps = [Step("PATCH", f"{THINGS}/limit/scale?dryRun=All", {"spec": {"replicas": replicas}}, MERGE) for replicas in made]
        found = [line for one in steps for line in parametrized.differences(one)]

    assert_none(found)


def test_compilation_of_mutations(guarded: GuardedPair) -> None:
    """Refuse mutating policies whose expressions do not compile, with the reference's words."""
    path = f"{admission.collection('MutatingAdmissionPolicy')}?dryRun=All"
    mutations = [
        *mutating_policies.COMPILED,
        *map(admission.applying, mutating_policies.APPLIED.values()),
        *map(admission.json_patching, mutating_policies.PATCHED.values()),
    ]
    made = [admission.mutating_policy("compiled", one) for one in mutations]

    assert_none(guarded.compare(Step("POST", path, one) for one in made))
