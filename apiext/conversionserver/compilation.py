"""Makes the converter of a CRD from its Conversion object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.conversion.interface import ConversionError
from apiext.conversion.rules.check.document_check import check_document, crd_schemas
from apiext.conversion.rules.compile import compile_rules
from apiext.conversion.rules.converter import RulesConverter
from apiext.conversion.rules.declared_losses import DeclaredLosses
from apiext.conversion.rules.errors import InvalidConversionError
from apiext.conversion.rules.finish import finisher

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.conversion.rules.check.report import CheckReport
    from apiext.conversion.rules.model import ConversionRules
    from apiext.meta.encoding.json_codec import Object
    from apiext.operator.api_clients import Json
    from apiext.schema.compiled import CompiledSchema

_MAX_PROBLEMS: Final = 3
"""Problems that a text names; the status of the object names all."""


def rules_converter(crd: Json, conversion: Json) -> tuple[PruningConverter | None, str]:
    """Return the converter of a CRD by the rules of its Conversion object, and what is wrong with the rules, "" if nothing is.

    Rules that can be compiled convert even if the check finds a problem: a CRD that changes under its rules stays readable. (apiext itself
    refuses to convert by them, and serves the storage version.) Takes seconds for very large rules.
    """
    schemas = crd_schemas(crd)
    rules, report = check_document(conversion, schemas)
    problem = _text(report)
    if rules is None:
        return None, problem
    try:
        return _converter(crd, rules, schemas), problem
    except (ConversionError, InvalidConversionError) as error:
        return None, problem or str(error)


def _converter(crd: Json, rules: ConversionRules, schemas: Mapping[str, CompiledSchema]) -> PruningConverter:
    """Return the converter with all pairs of versions compiled. Raise ConversionError or InvalidConversionError if one cannot be."""
    compiled = compile_rules(rules, schemas)
    for source in schemas:
        for target in schemas:
            if source != target:
                compiled.transformation(source, target)
    storage = next(version["name"] for version in crd["spec"]["versions"] if version["storage"])
    return PruningConverter(RulesConverter(compiled, DeclaredLosses(rules), schemas, storage, rules.name), schemas)


def _text(report: CheckReport) -> str:
    problems = report.problems
    more = f"; and {len(problems) - _MAX_PROBLEMS} more" if len(problems) > _MAX_PROBLEMS else ""
    return "; ".join(map(str, problems[:_MAX_PROBLEMS])) + more


class PruningConverter:
    """Implements ObjectConverter: prunes objects by the schema of their version, as rules expect them.

    kube-apiserver prunes when objects are written, and sends them as they are stored, also after the schema has changed.
    """

    def __init__(self, converter: RulesConverter, schemas: Mapping[str, CompiledSchema]) -> None:
        self._converter = converter
        self._prune: Final = {version: finisher(schema) for version, schema in schemas.items()}

    def convert_inline(self, obj: Object, api_version: str) -> Object:
        """Implement ObjectConverter.convert_inline."""
        version = obj["apiVersion"].rpartition("/")[2]
        if version not in self._prune:
            raise ConversionError(f"the CRD has no version {version}")
        self._prune[version](obj)
        return self._converter.convert_inline(obj, api_version)
