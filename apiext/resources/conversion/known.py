"""The Conversion objects that a server knows, by the name of their CRD: from files, and stored here or on the host."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.log import get_logger
from apiext.resources.conversion.rules_in_use import RulesInUse, was_in_use

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object

_LOG: Final = get_logger(__name__)

Changed = Callable[[str | None], None]
"""Called with the name of a CRD whose rules have changed; with None if they may have changed for all."""


class Origin(IntEnum):
    """Where a Conversion comes from. A greater one replaces the others."""

    OBJECT = 0
    FILE = 1


@dataclass(frozen=True)
class KnownConversion:
    """A Conversion, valid or not."""

    name: str
    """Its name, and that of its CRD."""
    document: Object
    """The whole object."""
    origin: Origin

    @cached_property
    def digest(self) -> str:
        """Return a digest of its spec."""
        return hashlib.sha256(json_codec.dumps(self.document.get("spec"))).hexdigest()


class KnownConversions:
    """All Conversions. They are few: one for each CRD at most."""

    def __init__(self) -> None:
        self._by_origin: dict[Origin, dict[str, KnownConversion]] = {origin: {} for origin in sorted(Origin, reverse=True)}
        self._listeners: list[Changed] = []
        self.in_use = RulesInUse(self._report)
        self.missing = ""
        """Why the Conversions are not known yet, "" if they are: until then no object is converted."""
        self.unread = ""
        """Why those of some file are not known, "" if they are: until then no object is converted without the rules that it had."""

    def __iter__(self) -> Iterator[KnownConversion]:
        """Iterate over the Conversions that apply."""
        names = sorted({name for known in self._by_origin.values() for name in known})
        return iter([found for name in names if (found := self.of(name)) is not None])

    def of(self, name: str) -> KnownConversion | None:
        """Return the Conversion that applies to a CRD."""
        return next((known[name] for known in self._by_origin.values() if name in known), None)

    def is_in_use(self, found: KnownConversion) -> bool:
        """Return whether servers convert by these rules already, as far as is known here or from the status of an object."""
        return self.in_use.has(found) or (found.origin is Origin.OBJECT and was_in_use(found.document))

    def subscribe(self, listener: Changed) -> Callable[[], None]:
        """Report changes from now on. Return a function that ends this."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def settle(self) -> None:
        """Convert objects from now on: all Conversions are known."""
        if self.missing:
            self.missing = ""
            self._report(None)

    def set_unread(self, reason: str) -> None:
        """Set `unread`."""
        if self.unread != reason:
            self.unread = reason
            self._report(None)

    def lacks(self, name: str) -> str:
        """Return why the rules of a CRD are not known although it has some, "" otherwise."""
        return self.unread if self.of(name) is None and self.in_use.has_any(name) else ""

    def put(self, origin: Origin, document: Object) -> None:
        """Add a Conversion, or replace the earlier state of this origin. Ignore a document without a name."""
        name = (document.get("metadata") or {}).get("name")
        if isinstance(name, str) and name:
            self._change(origin, name, KnownConversion(name, document, origin))

    def remove(self, origin: Origin, name: str) -> None:
        """Remove a Conversion."""
        self._change(origin, name, None)

    def replace(self, origin: Origin, documents: Sequence[Object]) -> None:
        """Replace all Conversions of an origin."""
        names = {(document.get("metadata") or {}).get("name") for document in documents}
        for name in [name for name in self._by_origin[origin] if name not in names]:
            self.remove(origin, name)
        for document in documents:
            self.put(origin, document)

    def _change(self, origin: Origin, name: str, found: KnownConversion | None) -> None:
        before = self.of(name)
        if found is None:
            self._by_origin[origin].pop(name, None)
        else:
            self._by_origin[origin][name] = found
        after = self.of(name)
        if (before and before.digest) == (after and after.digest):
            if after is not None and after.origin is Origin.OBJECT and was_in_use(after.document):
                self.in_use.resume({name: after.digest})
            return
        _LOG.info("conversion rules changed", definition=name, present=after is not None)
        self._report(name)

    def _report(self, name: str | None) -> None:
        for listener in tuple(self._listeners):
            listener(name)
