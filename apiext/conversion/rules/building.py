"""Makes the converter of a CRD from its Conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.conversion.interface import ConversionError
from apiext.conversion.rules.check.checker import check_rules
from apiext.conversion.rules.compile import compile_rules
from apiext.conversion.rules.converter import RulesConverter
from apiext.conversion.rules.declared_losses import DeclaredLosses
from apiext.conversion.rules.errors import InvalidConversionError
from apiext.conversion.rules.model import ConversionRules
from apiext.conversion.rules.parse import parse_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.conversion.metrics import RulesStats
    from apiext.conversion.rules.interface import CompiledRules, Transformation
    from apiext.meta.encoding.json_codec import Object
    from apiext.schema.compiled import CompiledSchema


_SHOWN_PROBLEMS: Final = 3


class _InvalidRules:
    """Implements CompiledRules for rules that cannot be used: each conversion fails with the reason."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def transformation(self, _source: str, _target: str) -> Transformation:
        """Implement CompiledRules.transformation."""
        raise ConversionError(self._reason)


def _invalid(name: str, problem: object) -> CompiledRules:
    return _InvalidRules(f"the Conversion {name} is invalid: {problem}")


def rules_converter(
    name: str, document: Object, schemas: Mapping[str, CompiledSchema], storage_version: str, stats: RulesStats | None = None
) -> RulesConverter:
    """Return the converter of the definition with a name, its schemas and its storage version. Its conversions are counted in `stats`.

    Invalid rules give a converter, too: what need not be converted can be read and written.
    """
    compiled: CompiledRules
    rules = ConversionRules(name, storage_version, ())
    try:
        rules = parse_rules(document)
        report = check_rules(rules, schemas)
        problem = "; ".join(map(str, report.problems[:_SHOWN_PROBLEMS]))
        compiled = _invalid(name, problem) if problem else compile_rules(rules, schemas)
    except (InvalidConversionError, ConversionError) as error:
        compiled = _invalid(name, error)
    return RulesConverter(compiled, DeclaredLosses(rules), schemas, storage_version, name, stats)
