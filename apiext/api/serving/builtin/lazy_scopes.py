"""Scopes that are made at their first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from apiext.api.endpoints.scopes.scope import Scope


class LazyScopes(Mapping[str, Scope]):
    """Scopes by subresource; those with a maker are made at their first use."""

    def __init__(self, made: Mapping[str, Scope], makers: Mapping[str, Callable[[], Scope]]) -> None:
        self._made = dict(made)
        self._makers = makers

    def __getitem__(self, name: str) -> Scope:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._made, **self._makers})

    def __len__(self) -> int:
        return len({*self._made, *self._makers})


class DeferredScopes(Mapping[str, Scope]):
    """All scopes of a resource, which a function makes at their first use."""

    def __init__(self, make: Callable[[], Mapping[str, Scope]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, Scope]:
        return self._make()

    def __getitem__(self, name: str) -> Scope:
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)
