"""Rules by which servers convert already: problems that a check finds later do not stop them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

IN_USE: Final = "InUse"
"""Condition of a Conversion object: a server converts by its rules."""


def was_in_use(conversion: Mapping[str, Any]) -> bool:
    """Return whether a server converts by a Conversion object of this generation, according to the status."""
    generation, status = conversion["metadata"].get("generation"), conversion.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    if not generation or not isinstance(conditions, list):
        return False
    return any(
        isinstance(one, dict) and one.items() >= {"type": IN_USE, "status": "True", "observedGeneration": generation}.items()
        for one in conditions
    )


class IdentifiedRules(Protocol):
    """The rules of a Conversion."""

    @property
    def name(self) -> str:
        """Return the name of the CRD."""
        ...

    @property
    def digest(self) -> str:
        """Return a digest of the rules."""
        ...


class RulesInUse:
    """The rules that convert, by the name of their CRD, and the rules that do not because of a problem."""

    def __init__(self, resumed: Callable[[str], None]) -> None:
        """Create the set. `resumed` is called with the name of refused rules that are in use according to another server."""
        self.changed: Callable[[], None] = _nothing
        """Called after rules have begun to convert, or were refused."""
        self._resumed = resumed
        self._digests: dict[str, str] = {}
        self._refused: dict[str, str] = {}

    def has(self, rules: IdentifiedRules) -> bool:
        """Return whether the rules convert already."""
        return self._digests.get(rules.name) == rules.digest

    def has_any(self, name: str) -> bool:
        """Return whether some rules of a CRD convert, or did."""
        return name in self._digests

    def begin(self, rules: IdentifiedRules) -> None:
        """Note that the rules convert from now on."""
        self._refused.pop(rules.name, None)
        if not self.has(rules):
            self._digests[rules.name] = rules.digest
            self.changed()

    def refuse(self, rules: IdentifiedRules) -> None:
        """Note that the rules do not convert."""
        if self._refused.get(rules.name) != rules.digest:
            self._refused[rules.name] = rules.digest
            self.changed()

    def resume(self, digests: Mapping[str, Any]) -> None:
        """Take over the digests of rules that convert, by name. Report refused ones."""
        for name, digest in digests.items():
            self._digests.setdefault(name, digest)
            if self._refused.get(name) == digest:
                self._digests[name] = self._refused.pop(name)
                self._resumed(name)

    def digests(self, known: Collection[str]) -> dict[str, str]:
        """Return the digests of the rules that convert, by the names of known Conversions."""
        return {name: digest for name, digest in self._digests.items() if name in known}


def _nothing() -> None:
    pass
