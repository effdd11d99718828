"""Rules of real definitions use only functions that the environment of new expressions has."""

from collections.abc import Iterator

import pytest

from apiext.schema.cel.ast import CheckedAst
from apiext.schema.cel.declarations import DeclaredTypes, declare
from apiext.schema.cel.rule_compiler import check_rule, rule_environment
from apiext.schema.cel.versions import new_environment, stored_environment
from apiext.schema.model import Structural
from hack.lib.real_crds import NO_REAL, REAL, real_crds

_RULES = 1000
"""The real definitions have at least as many rules."""


def _nodes(schema: Structural) -> Iterator[Structural]:
    pending = [schema]
    while pending:
        node = pending.pop()
        yield node
        pending += [child for child in (*node.properties.values(), node.items, node.additional) if child is not None]


def _rules(root: Structural) -> Iterator[CheckedAst | None]:
    for node in _nodes(root):
        rules = [rule for part in (node.raw, *node.raw.get("allOf", ())) for rule in part.get("x-kubernetes-validations", ())]
        if not rules:
            continue
        declaration = declare(node, resource=node is root)
        assert declaration is not None
        types = DeclaredTypes(declaration)
        for rule in rules:
            for environment in (new_environment(), stored_environment()):
                yield check_rule(rule["rule"], rule_environment(environment, types, optional_old_self=bool(rule.get("optionalOldSelf"))))


@pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL)
def test_real_rules_compile() -> None:
    """Compile every rule of the real definitions with the functions of both environments."""
    roots = [Structural(version["schema"]["openAPIV3Schema"]) for crd in real_crds() for version in crd["spec"]["versions"]]

    compiled = [rule for root in roots for rule in _rules(root)]

    assert len(compiled) >= 2 * _RULES
    assert None not in compiled
