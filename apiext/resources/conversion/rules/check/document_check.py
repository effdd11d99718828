"""The whole check of a Conversion object: its form, its rules against the schemas of the CRD, and its expressions."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from apiext.base.meta.encoding import json_values
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.check.checker import check_rules
from apiext.resources.conversion.rules.check.places import spoke_path
from apiext.resources.conversion.rules.check.report import CheckReport, report_of
from apiext.resources.conversion.rules.check.sample_trials import general_path, try_samples
from apiext.resources.conversion.rules.compile import compile_rules
from apiext.resources.conversion.rules.interface import InvalidConversionError
from apiext.resources.conversion.rules.model import EACH
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from apiext.resources.conversion.rules.paths import path_text
from apiext.schema.compiled import CompiledSchema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.interface import CompiledRules, Transformation
    from apiext.resources.conversion.rules.model import ConversionRules, FieldSteps
    from apiext.schema.model import Structural

_IDENTITY: Final = ("apiVersion", "kind", "metadata")
_KEY: Final = "key"
"""The key of a made-up entry of a map."""
_MAX_DEFAULTS: Final = 1000
"""Defaults of a version that are tried: each takes about 0.1 ms."""
_MAX_SHOWN: Final = 100
"""Characters of a shown default."""


class _Default(NamedTuple):
    """A field with a default."""

    path: FieldSteps
    holder: FieldSteps
    """Leads to the object with the field; entries of maps have a key."""


def check_defaults(rules: ConversionRules, compiled: CompiledRules, schemas: Mapping[str, CompiledSchema], report: CheckReport) -> None:
    """Convert an object for each default, and warn if the default makes it invalid: a client of the other version cannot write it back."""
    for index, spoke in enumerate(rules.spokes):
        for source, target in ((spoke.version, rules.hub), (rules.hub, spoke.version)):
            trial = _Trial(schemas[source], schemas[target], compiled.transformation(source, target))
            for default in islice(_defaults(schemas[source].structural, (), ()), _MAX_DEFAULTS):
                found = trial.run(default)
                if found is not None:
                    value, problem, field = found
                    text = f"{source} gives {path_text(default.path)} the default {_short(value)}, which makes objects invalid in {target}"
                    report.warn(spoke_path(index), f"{text}: {problem}", (target, field))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _defaults(schema: Structural, path: FieldSteps, holder: FieldSteps) -> Iterator[_Default]:
    for name, child in schema.properties.items():
        if path or name not in _IDENTITY:
            if "default" in child.raw:
                yield _Default((*path, name), holder)
            yield from _defaults(child, (*path, name), (*holder, name))
    if schema.items is not None:
        yield from _defaults(schema.items, (*path, EACH), (*holder, EACH))
    if schema.additional is not None:
        yield from _defaults(schema.additional, (*path, EACH), (*holder, _KEY))


class _Trial:
    """Tries the defaults of one version in another one."""

    def __init__(self, source: CompiledSchema, target: CompiledSchema, transformation: Transformation) -> None:
        self._source = source
        self._target = target
        self._transformation = transformation

    def run(self, default: _Default) -> tuple[Any, str, str] | None:
        """Return the default, a problem that it makes in the target, and the path of that; None without one, or no object to try it."""
        obj: Object = {"apiVersion": "", "kind": "", "metadata": {"name": "sample"}} | _holding(default.holder, {})
        try:
            self._source.coerce(obj, defaults=True)
            without = json_values.copy(obj)
            value = _object_at(without, default.holder).pop(default.path[-1])
            problems = self._problems(obj)
            known = self._problems(without) if problems else {}
        # a ConversionError is a ValueError, as are those of embedded objects without a kind, whose other fields are dropped
        except (ValueError, LookupError):
            return None
        return next(((value, problem, problems[problem]) for problem in sorted(problems) if problem not in known), None)

    def _problems(self, obj: Object) -> dict[str, str]:
        """Return what the target does not allow of an object of the source, with paths. Raise ConversionError."""
        self._transformation.apply(obj)
        self._target.coerce(obj, defaults=True)
        errors = (*self._target.validate_values(obj), *self._target.validate_lists(obj))
        return {f"{each.field}: {each.body()}": general_path(each.field, obj, self._target.structural) for each in errors}


def _holding(steps: FieldSteps, value: Any) -> Any:
    """Return an object with a value at the end of a path."""
    for step in reversed(steps):
        value = [value] if step == EACH else {step: value}
    return value


def _object_at(value: Any, steps: FieldSteps) -> Object:
    for step in steps:
        value = value[0] if step == EACH else value[step]
    found: Object = value
    return found


class CheckedDocument(NamedTuple):
    """A document, and what the check found."""

    rules: ConversionRules | None
    """None if the form of the document is wrong."""
    report: CheckReport


def check_document(document: object, schemas: Mapping[str, CompiledSchema] | None) -> CheckedDocument:
    """Return the rules of a Conversion object, None if its form is wrong, and all findings.

    `schemas` are those of the CRD's versions; None checks the form alone. Takes seconds for very large rules.
    """
    try:
        rules = parse_rules(document)
    except InvalidConversionError as error:
        return CheckedDocument(None, report_of(error.errors))
    if schemas is None:
        return CheckedDocument(rules, CheckReport())
    report = check_rules(rules, schemas)
    compiled = compile_rules(rules, schemas)
    check_compiled(rules, compiled, report)
    if report.is_valid:
        check_defaults(rules, compiled, schemas, report)
        try_samples(rules, compiled, schemas, report)
    return CheckedDocument(rules, report)


def check_compiled(rules: ConversionRules, compiled: CompiledRules, report: CheckReport) -> None:
    """Compile the expressions of valid rules, and add their problems to the report."""
    if not report.is_valid:
        return
    for spoke in rules.spokes:
        for source, target in ((spoke.version, rules.hub), (rules.hub, spoke.version)):
            try:
                compiled.transformation(source, target)
            except InvalidConversionError as error:
                report.extend(report_of(error.errors).findings)
            except ConversionError as error:
                report.problem("spec", str(error))


def crd_schemas(crd: Object) -> dict[str, CompiledSchema]:
    """Return the schemas of all versions of a CustomResourceDefinition."""
    spec = crd["spec"]
    preserves = spec.get("preserveUnknownFields") is True
    return {
        version["name"]: CompiledSchema((version.get("schema") or {}).get("openAPIV3Schema"), preserve_unknown_fields=preserves)
        for version in spec["versions"]
    }


def name_of(document: Any) -> str:
    """Return the name of an object, which may be malformed; "" without one."""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
