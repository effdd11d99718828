"""Makes the converter of a CRD from its Conversion, and decides whether its rules convert.

Rules with a problem would store objects that other clients cannot read, with defaults in the place of values. So rules begin to convert
once the check finds no problem. Rules that are in use go on: neither a change of the CRD nor a stricter check makes objects unreadable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.check.checker import check_rules
from apiext.resources.conversion.rules.check.report import CheckReport, report_of
from apiext.resources.conversion.rules.compile import compile_rules
from apiext.resources.conversion.rules.converter import RulesConverter
from apiext.resources.conversion.rules.declared_losses import DeclaredLosses
from apiext.resources.conversion.rules.interface import InvalidConversionError
from apiext.resources.conversion.rules.model import ConversionRules
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.metrics import RulesStats
    from apiext.resources.conversion.rules.interface import CompiledRules, Transformation
    from apiext.schema.compiled import CompiledSchema


_SHOWN_PROBLEMS: Final = 3


class _InvalidRules:
    """Implements CompiledRules for rules that do not convert: each conversion fails with the reason."""

    has_expressions: Final = False

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def transformation(self, _source: str, _target: str) -> Transformation:
        """Implement CompiledRules.transformation."""
        raise ConversionError(self._reason)


@dataclass(frozen=True, slots=True)
class BuiltRules:
    """The rules of a CRD in the form that converts."""

    converter: RulesConverter
    """Fails each conversion with the reason if the rules do not convert, and those between two versions that cannot be compiled."""
    compiled: CompiledRules
    rules: ConversionRules | None
    """None if the form of the Conversion is wrong."""
    report: CheckReport
    """What the check finds, without the expressions."""

    @property
    def converts(self) -> bool:
        """Return whether the rules convert."""
        return not isinstance(self.compiled, _InvalidRules)


def build_rules(
    name: str,
    document: Object,
    schemas: Mapping[str, CompiledSchema],
    storage_version: str,
    *,
    in_use: bool = False,
    stats: RulesStats | None = None,
    sees_writes: bool = True,
) -> BuiltRules:
    """Return the rules of the definition with a name, for its schemas and its storage version. Count conversions in `stats`.

    With `in_use`, these rules convert already: problems of the check do not stop them. Expressions are compiled at their first use.
    `sees_writes` as for RulesConverter.
    """
    compiled: CompiledRules
    rules: ConversionRules | None = None
    try:
        rules = parse_rules(document)
        report = check_rules(rules, schemas)
    except InvalidConversionError as error:
        report = report_of(error.errors)
    if rules is None or (report.problems and not in_use):
        compiled = _InvalidRules(f"the Conversion {name} is invalid: {problem_text(report)}")
    else:
        compiled = compile_rules(rules, schemas)
    losses = DeclaredLosses(rules or ConversionRules(name, storage_version, ()))
    hub = rules.hub if rules is not None else ""
    converter = RulesConverter(compiled, losses, schemas, storage_version, name, stats, hub, sees_writes=sees_writes)
    return BuiltRules(converter, compiled, rules, report)


def problem_text(report: CheckReport) -> str:
    """Return the first problems of a report, "" without any."""
    problems = report.problems
    more = f"; and {len(problems) - _SHOWN_PROBLEMS} more" if len(problems) > _SHOWN_PROBLEMS else ""
    return "; ".join(map(str, problems[:_SHOWN_PROBLEMS])) + more
