"""Compares what reads give before and after a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.conversion.interface import ConversionError
from apiext.lab.judgement.difference import What, differences, same_content, text_differences
from apiext.lab.judgement.findings import Findings, Group
from apiext.lab.judgement.outcome import FindingKind

if TYPE_CHECKING:
    from apiext.lab.judgement.judged_definition import JudgedDefinition
    from apiext.meta.encoding.json_codec import Object

_KINDS: Final = {What.MISSING: FindingKind.PRUNED, What.ADDED: FindingKind.DEFAULTED, What.CHANGED: FindingKind.CHANGED}
_TEXTS: Final = {
    What.MISSING: "a read no longer gives the field",
    What.ADDED: "a read gives the field, which it did not give before",
    What.CHANGED: "a read gives another value",
}


def compare_reads(judged: JudgedDefinition, key: str, name: str, before: Object | Exception, after: Object, findings: Findings) -> None:
    """Add what a read in a version gives now that it did not give before. A read that failed before is no problem."""
    if isinstance(before, Exception) or before is after:
        return
    is_webhook = judged.converter.is_webhook
    if not is_webhook and same_content(before, after):
        return
    found = differences(before, after, judged.version(name).schema.structural, typed=is_webhook)
    for difference in [*found, *text_differences(before, after)] if is_webhook else found:
        findings.add(key, Group(_KINDS[difference.what], name, difference.path, _TEXTS[difference.what]))


def unreadable(key: str, name: str, error: Exception, findings: Findings, *, already: bool) -> None:
    """Add the error of a read."""
    kind = FindingKind.UNCONVERTIBLE if isinstance(error, ConversionError) else FindingKind.UNREADABLE
    findings.add(key, Group(kind, name, "", f"a read at {name} fails: {error}"), already=already)
