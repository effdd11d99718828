"""Comparison of the served versions of one definition: what an object loses or breaks on its way from one version to another.

It matters most without a webhook: the server then only replaces apiVersion, drops the fields that the other version lacks, and checks
an update by the schema of the version of its request.
"""

from __future__ import annotations

from itertools import permutations

from apiext.base.meta.kube_version import kube_aware_key
from apiext.resources.definitions.definition import Definition
from apiext.tools.comparison.change import Change, Grade, Hurts
from apiext.tools.comparison.grades import Grades
from apiext.tools.comparison.schema_comparison import compare_schemas


def compare_served_versions(
    definition: Definition, grades: Grades, known: Definition | None = None, *, has_rules: bool = False
) -> list[Change]:
    """Return the changes from each served version to each other one that hurt anybody, or are graded so; the version is "v1beta1 -> v1".

    The storage version is compared even if it is not served: what it lacks, no version keeps. If a webhook or rules convert, there are
    no changes unless the grades ask for them.

    Args:
        definition: the definition.
        grades: sets the grade of each change.
        known: the definition before; changes that it has, too, are left out.
        has_rules: whether a Conversion applies to the definition.
    """
    if (has_rules or definition.conversion_strategy == "Webhook") and not grades.compares_converted_versions:
        return []
    former = {_identity(change) for change in _changes(known, grades)} if known is not None else ()
    return [change for change in _changes(definition, grades) if _identity(change) not in former]


def _identity(change: Change) -> tuple[str, str, str, str]:
    return change.version, change.path, change.rule, change.message


def _changes(definition: Definition, grades: Grades) -> list[Change]:
    compared = [version for version in definition.versions if version.served or version.storage]
    versions = sorted(compared, key=lambda version: kube_aware_key(version.name), reverse=True)
    schemas = {version.name: version.schema for version in versions}
    changes = []
    for old, new in permutations(schemas, 2):
        label = f"{old} -> {new}"
        found = (grades.graded(change, definition.name, label) for change in compare_schemas(schemas[old], schemas[new]))
        changes += sorted(filter(_matters, found), key=_identity)
    return changes


def _matters(change: Change) -> bool:
    return change.hurts is not Hurts.NOBODY or change.grade in (Grade.WARNING, Grade.ERROR)
