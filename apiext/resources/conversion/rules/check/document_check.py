"""The whole check of a Conversion object: its form, its rules against the schemas of the CRD, and its expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.check.agreement import check_agreement
from apiext.resources.conversion.rules.check.checker import check_rules
from apiext.resources.conversion.rules.check.default_check import check_defaults
from apiext.resources.conversion.rules.check.report import CheckReport, report_of
from apiext.resources.conversion.rules.compile import compile_rules
from apiext.resources.conversion.rules.errors import InvalidConversionError
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from apiext.schema.compiled import CompiledSchema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.interface import CompiledRules
    from apiext.resources.conversion.rules.model import ConversionRules


def check_document(document: object, schemas: Mapping[str, CompiledSchema] | None) -> tuple[ConversionRules | None, CheckReport]:
    """Return the rules of a Conversion object, None if its form is wrong, and all findings.

    `schemas` are those of the CRD's versions; None checks the form alone. Takes seconds for very large rules.
    """
    try:
        rules = parse_rules(document)
    except InvalidConversionError as error:
        return None, report_of(error.errors)
    if schemas is None:
        return rules, CheckReport()
    report = check_rules(rules, schemas)
    check_compiled(rules, compile_rules(rules, schemas), schemas, report)
    return rules, report


def check_compiled(rules: ConversionRules, compiled: CompiledRules, schemas: Mapping[str, CompiledSchema], report: CheckReport) -> None:
    """Compile the expressions of valid rules, try them and the defaults of the schemas, and add the findings to the report."""
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
    if report.is_valid:
        check_agreement(rules, compiled, schemas, report)
        check_defaults(rules, compiled, schemas, report)


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
