"""Environments by Kubernetes version (apiserver pkg/cel/environment/base.go)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from apiext.schema.cel.checking.standard_functions import STANDARD_TYPES, standard_functions
from apiext.schema.cel.environment import Environment
from apiext.schema.cel.libraries.authorization import AUTHORIZATION, AUTHORIZATION_SELECTORS
from apiext.schema.cel.libraries.cidr import CIDR
from apiext.schema.cel.libraries.ip import IP
from apiext.schema.cel.libraries.library import Library
from apiext.schema.cel.libraries.list_extension import LIST_EXTENSION
from apiext.schema.cel.libraries.lists import LISTS, LISTS_1
from apiext.schema.cel.libraries.named_format import FORMAT
from apiext.schema.cel.libraries.optional_types import OPTIONAL_TYPES
from apiext.schema.cel.libraries.quantity import QUANTITY
from apiext.schema.cel.libraries.regex import REGEX
from apiext.schema.cel.libraries.semver import SEMVER
from apiext.schema.cel.libraries.sets import SETS
from apiext.schema.cel.libraries.strings import STRINGS
from apiext.schema.cel.libraries.two_variable_comprehensions import TWO_VARIABLE_COMPREHENSIONS
from apiext.schema.cel.libraries.urls import URLS
from apiext.schema.cel.signature import Overloaded
from apiext.schema.cel.syntax.macros import LISTS_MACROS, OPTIONAL_MACROS, STANDARD_MACROS, TWO_VARIABLE_MACROS, Macros
from apiext.schema.cel.types import DURATION, TIMESTAMP, type_of

Version = tuple[int, int]

COMPATIBILITY_VERSION: Final[Version] = (1, 36)
"""New expressions must also work on servers of this version, the one before the reference's."""
_LATEST: Final[Version] = (1, 1_000_000)


@dataclass(frozen=True, slots=True)
class _Versioned:
    library: Library
    introduced: Version = (1, 0)
    removed: Version | None = None
    macros: Macros | None = None


_LIBRARIES: Final = (
    _Versioned(URLS),
    _Versioned(REGEX),
    _Versioned(LISTS, removed=(1, 37)),
    _Versioned(AUTHORIZATION, (1, 27)),
    _Versioned(OPTIONAL_TYPES, (1, 28), macros=OPTIONAL_MACROS),
    _Versioned(QUANTITY, (1, 28)),
    _Versioned(STRINGS, (1, 29)),
    _Versioned(SETS, (1, 29)),
    _Versioned(IP, (1, 30)),
    _Versioned(CIDR, (1, 30)),
    _Versioned(FORMAT, (1, 31)),
    _Versioned(AUTHORIZATION_SELECTORS, (1, 31)),
    _Versioned(TWO_VARIABLE_COMPREHENSIONS, (1, 32), macros=TWO_VARIABLE_MACROS),
    _Versioned(SEMVER, (1, 33)),
    _Versioned(LIST_EXTENSION, (1, 34), macros=LISTS_MACROS),
    _Versioned(LISTS_1, (1, 37)),
)
"""Libraries beyond the standard one, in the order in which overloads of one function are tried.

The smallest version that `environment` serves is 1.29: earlier ones had other strings, and fewer rules for numbers and literals.
"""


@cache
def environment(version: Version) -> Environment:
    """Return the functions, macros and types in expressions of a Kubernetes version from 1.29 on."""
    functions: dict[str, tuple[Overloaded, ...]] = dict(standard_functions())
    macros = dict(STANDARD_MACROS)
    types = list(STANDARD_TYPES)
    for entry in _LIBRARIES:
        if version >= entry.introduced and (entry.removed is None or version < entry.removed):
            for name, overloads in entry.library.functions.items():
                functions[name] = (*functions.get(name, ()), *overloads)
            macros.update(entry.macros or {})
            types += entry.library.types
    identifiers = {kind.name: type_of(kind) for kind in types}
    short = {"duration": type_of(DURATION), "timestamp": type_of(TIMESTAMP)}
    return Environment(functions, macros, {**short, **identifiers}, optional_syntax=True)


def new_environment() -> Environment:
    """Return the environment for expressions that a request adds or changes."""
    return environment(COMPATIBILITY_VERSION)


def stored_environment() -> Environment:
    """Return the environment for stored expressions. It has everything that any version accepts."""
    return environment(_LATEST)
