"""A first Conversion object for a CRD, with comments for its author."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import yaml

from apiext.resources.authoring.schema_pairing import DraftedRule, Pairing, simple_value
from apiext.resources.conversion.rules.check.document_check import check_document, crd_schemas
from apiext.resources.conversion.rules.model import API_VERSION, EACH, KIND
from apiext.resources.conversion.rules.paths import parse_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.authoring.schema_pairing import SpokeDraft
    from apiext.resources.conversion.rules.check.report import CheckReport, RuleFinding
    from apiext.resources.definitions.definition import Definition
    from apiext.schema.compiled import CompiledSchema
    from apiext.schema.model import Structural

_WIDTH: Final = 400


def draft_text(definition: Definition, hub: str = "") -> str:
    """Return a Conversion object as YAML with comments: rules that the schemas suggest, and what a person must decide.

    `hub` is a version; empty for the storage version.

    Raises:
        ValueError: the definition does not have the version, or only one.
    """
    schemas = crd_schemas(definition.object)
    hub = hub or definition.storage_version.name
    if hub not in schemas:
        raise ValueError(f"{definition.name} has no version {hub}; it has {', '.join(schemas)}")
    if len(schemas) == 1:
        raise ValueError(f"{definition.name} has one version: there is nothing to convert")
    spokes = [
        Pairing(version, hub).compare(schema.structural, schemas[hub].structural) for version, schema in schemas.items() if version != hub
    ]
    report = _settle(definition.name, hub, spokes, schemas)
    return "".join(f"{line}\n" for line in _lines(definition.name, hub, spokes, report))


def _settle(name: str, hub: str, spokes: Sequence[SpokeDraft], schemas: Mapping[str, CompiledSchema]) -> CheckReport:
    """Turn rules that the check refuses into decisions, and give required fields a default. Return the last report."""
    while True:
        _, report = check_document(_document(name, hub, spokes), schemas)
        wrong = {_place(each.path): each.message for each in report.problems if ".rules[" in each.path}
        for (spoke, index), message in sorted(wrong.items(), reverse=True):
            drafted: DraftedRule = spokes[spoke].rules.pop(index)
            spokes[spoke].decisions.append(f"{_inline(drafted.rule)} does not fit: {message}")
        if not wrong and not any(_add_default(each, hub, spokes, schemas) for each in report.problems):
            return report


def _add_default(found: RuleFinding, hub: str, spokes: Sequence[SpokeDraft], schemas: Mapping[str, CompiledSchema]) -> bool:
    """Add a default for a required field without a source. Return whether there is a value."""
    if found.field is None:
        return False
    version, path = found.field
    schema: Structural | None = schemas[version].structural
    for step in parse_path(path):
        schema = None if schema is None else schema.items or schema.additional if step == EACH else schema.properties.get(step)
    value = None if schema is None else simple_value(schema)
    spoke = spokes[int(found.path.removeprefix("spec.spokes[").partition("]")[0])]
    return value is not None and spoke.add_default(path, value, version, is_hub=version == hub)


def _place(path: str) -> tuple[int, int]:
    """Return the numbers of the spoke and of the rule in a path."""
    spoke, _, rest = path.removeprefix("spec.spokes[").partition("].rules[")
    return int(spoke), int(rest.partition("]")[0])


def _document(name: str, hub: str, spokes: Sequence[SpokeDraft]) -> Object:
    written = [{"version": each.version, "rules": [drafted.rule for drafted in each.rules]} for each in spokes]
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": {"hub": hub, "spokes": written}}


def _lines(name: str, hub: str, spokes: Sequence[SpokeDraft], report: CheckReport) -> Iterator[str]:
    yield f"# A draft for {name}, made by comparing the schemas of its versions. Read all comments, then run:"
    yield "#   apiext convert check FILE --crds CRD"
    yield "#   apiext convert test FILE --crds CRD"
    yield f"apiVersion: {API_VERSION}"
    yield f"kind: {KIND}"
    yield "metadata:"
    yield f"  name: {name}"
    yield "spec:"
    yield f"  hub: {hub}"
    yield "  spokes:"
    for index, spoke in enumerate(spokes):
        yield f"  - version: {spoke.version}"
        yield from _rules(spoke)
        yield from (f"    # Decide: {_one_line(each)}." for each in dict.fromkeys(spoke.decisions))
        for severity, findings in (("Problem", report.problems), ("Warning", report.warnings)):
            yield from (
                f"    # {severity}: {_one_line(each.message)}." for each in findings if each.path.startswith(f"spec.spokes[{index}]")
            )


def _rules(spoke: SpokeDraft) -> Iterator[str]:
    if not spoke.rules:
        yield "    rules: []"
        return
    yield "    rules:"
    for each in spoke.rules:
        yield f"    # {_one_line(each.reason)}."
        yield f"    - {_inline(each.rule)}"


def _inline(rule: Object) -> str:
    """Return a rule as one line of YAML."""
    ((kind, body),) = rule.items()
    text: Any = yaml.safe_dump(body, default_flow_style=True, sort_keys=False, width=10**6, allow_unicode=True)
    return f"{kind}: {text.strip()}"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_WIDTH]
