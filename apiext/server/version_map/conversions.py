"""Conversions on the map: counts, failures and latencies by version, the circuits of webhooks, and the state of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.scheduling.histogram import Histogram
from apiext.server.version_map.entries import ConversionFacts, RulesState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.circuits import ConversionCircuits
    from apiext.resources.conversion.known import KnownConversion, KnownConversions
    from apiext.resources.conversion.metrics import ConversionStats
    from apiext.resources.definitions.definition import Definition

_MOST: Final = 0.95
"""Share of the calls that are not slower than the shown latency."""
_MAX_ERROR: Final = 500
"""Characters."""
_MAX_PROBLEMS: Final = 20
"""Problems of a Conversion that are shown."""


def routes_by_definition(stats: ConversionStats) -> dict[str, list[Object]]:
    """Return the conversions since the start of the server, by definition: the calls of webhooks, and the objects that rules convert."""
    calls: dict[tuple[str, str, str, str], dict[str, Histogram]] = {}
    for way, histograms in (("webhook", stats.conversions), ("rules", stats.rules.conversions)):
        for (name, source, target, succeeded), histogram in list(histograms.items()):
            calls.setdefault((name, source, target, way), {})[succeeded] = histogram
    found: dict[str, list[Object]] = {}
    for (name, source, target, way), outcomes in sorted(calls.items()):
        found.setdefault(name, []).append({"from": source, "to": target, "by": way, **_latency(outcomes)})
    return found


def _latency(outcomes: Mapping[str, Histogram]) -> Object:
    total = Histogram(next(iter(outcomes.values())).bounds)
    for histogram in outcomes.values():
        total.add(histogram)
    calls = total.count
    failed = outcomes["false"].count if "false" in outcomes else 0
    return {
        "calls": calls,
        "failed": failed,
        "meanMilliseconds": _milliseconds(total.seconds / calls) if calls else None,
        "mostMilliseconds": _bound(total),
    }


def _bound(histogram: Histogram) -> float | None:
    """Return the upper bound in milliseconds of the bucket that completes most of the calls; None above the last bound."""
    wanted, seen = _MOST * histogram.count, 0
    for bound, number in zip(histogram.bounds, histogram.buckets, strict=False):
        seen += number
        if seen >= wanted:
            return _milliseconds(bound)
    return None


def _milliseconds(seconds: float) -> float:
    """Return a rounded number of milliseconds: rules take microseconds, webhooks longer."""
    return round(1000 * seconds, 1 if seconds >= 0.001 else 3)


def conversion_facts(
    definition: Definition, routes: Sequence[Object], circuits: ConversionCircuits, rules: RulesState | None
) -> ConversionFacts:
    """Return what the server knows about the conversion of a definition's objects."""
    circuit = circuits.of(definition.name) if definition.conversion_strategy != "None" else None
    error = circuit.error if circuit is not None else None
    return ConversionFacts(routes=routes, error="" if error is None else str(error)[:_MAX_ERROR], is_open=error is not None, rules=rules)


class RulesStates:
    """The states of all Conversions, each parsed once."""

    def __init__(self, known: KnownConversions) -> None:
        self._known = known
        self._parsed: dict[str, tuple[str, str]] = {}
        """The digests of the parsed rules, and what is wrong with them by themselves, by name."""

    def of(self, definition: Definition) -> RulesState | None:
        """Return the state of a definition's Conversion, None without one."""
        if self._known.missing and len(definition.versions) > 1:
            return RulesState((self._known.missing,))
        found = self._known.of(definition.name)
        if found is None:
            self._parsed.pop(definition.name, None)
            lacks = self._known.lacks(definition.name)
            return RulesState((lacks,)) if lacks else None
        parsed = self._parsed.get(found.name)
        if parsed is None or parsed[0] != found.digest:
            parsed = self._parsed[found.name] = (found.digest, _parse_problem(found))
        return RulesState((parsed[1],) if parsed[1] else _reported(found))


def _parse_problem(conversion: KnownConversion) -> str:
    """Return what is wrong with a Conversion by itself."""
    # Imported with the first rules: most servers have none.
    from apiext.resources.conversion.rules.interface import InvalidConversionError
    from apiext.resources.conversion.rules.parsing.document_parser import parse_rules

    try:
        parse_rules(conversion.document)
    except InvalidConversionError as error:
        return str(error)[:_MAX_ERROR]
    return ""


def _reported(conversion: KnownConversion) -> tuple[str, ...]:
    """Return the problems in the status of a Conversion."""
    problems = (conversion.document.get("status") or {}).get("problems") or ()
    return tuple(f"{problem.get('path', '')}: {problem.get('message', '')}"[:_MAX_ERROR] for problem in problems[:_MAX_PROBLEMS])


def conversion_target(definition: Definition) -> str:
    """Return the Service or the URL of a definition's conversion webhook, empty without one."""
    webhook = (definition.head["spec"].get("conversion") or {}).get("webhook") or {}
    return client_target(webhook.get("clientConfig") or {})


def client_target(config: Object) -> str:
    """Return the Service or the URL in the clientConfig of a webhook."""
    service = config.get("service")
    if service:
        return f"service {service.get('namespace', '')}/{service.get('name', '')}{service.get('path') or ''}"
    return str(config.get("url") or "")
