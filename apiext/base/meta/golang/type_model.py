"""A small model of Go types: the errors and the output of encoding/json for a document.

A typed resource is read in two steps. `Decoder.run` walks the document in its own order and reports the errors of Go's decoder: the
first value of a wrong type, and for strict decoding the unknown fields. `GoType.canonical` then makes the document that Go's
encoder writes: fields in the order of the struct, without empty `omitempty` fields, null for nil. Mirrors sigs.k8s.io/json.
"""

# ruff: noqa: D102 -- the methods of the types are described by GoType

from __future__ import annotations

from typing import Any, NoReturn

from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import is_enough

_Location = tuple[Any, str] | None
"""Location of the parent and the step to a value; None at the root."""


def _text(location: _Location) -> str:
    steps: list[str] = []
    while location is not None:
        location, step = location
        steps.append(step)
    return "".join(reversed(steps)).removeprefix(".")


class DecodeError(ValueError):
    """A document that does not fit the type; the text is Go's."""


class TypeMismatchError(DecodeError):
    """A value of the wrong JSON type (json.UnmarshalTypeError)."""

    value = ""
    type_name = ""
    fields: tuple[str, ...] = ()


def _mismatch(value: str, type_name: str, struct: str, fields: tuple[str, ...]) -> TypeMismatchError:
    path = ".".join(fields)
    where = f"Go struct field {struct}.{path}" if struct or path else "Go value"
    error = TypeMismatchError(f"json: cannot unmarshal {value} into {where} of type {type_name}")
    error.value, error.type_name, error.fields = value, type_name, fields
    return error


class Decoder:
    """One walk over one document."""

    __slots__ = ("fields", "path", "report", "saved", "struct", "unknown_paths")

    def __init__(self, *, report: bool) -> None:
        self.report = report
        self.saved: DecodeError | None = None
        self.unknown_paths: dict[str, None] = {}
        """Paths of unknown fields, collected if `report` is set."""
        self.struct = ""
        self.fields: tuple[str, ...] = ()
        self.path: _Location = None

    def run(self, go_type: GoType, value: Any) -> list[str]:
        """Check a document and return the strict errors if `report` is set.

        Raises:
            DecodeError: a value has the wrong type.
        """
        # An error of a custom UnmarshalJSON stops decoding and takes precedence over a saved one.
        go_type.check(value, self)
        self.raise_saved()
        return [f"unknown field {formatting.quote(path)}" for path in self.unknown_paths]

    def mismatch(self, value: Any, type_name: str, described: str = "") -> None:
        """Save the error about a value of the wrong type, unless one is saved. Decoding continues."""
        if self.saved is None:
            self.saved = _mismatch(described or describe(value), type_name, self.struct, self.fields)

    def save(self, error: DecodeError) -> None:
        """Save an error, unless one is saved."""
        if self.saved is None:
            self.saved = error

    def raise_saved(self) -> None:
        """Raise the saved error, if there is one, and forget it."""
        saved, self.saved = self.saved, None
        if saved is not None:
            try:
                raise saved
            finally:
                # the error refers to this frame
                del saved

    def fail(self, value: Any, type_name: str) -> NoReturn:
        """Stop decoding, as a custom UnmarshalJSON does on a value of the wrong type. Raises the error about the value's type."""
        raise _mismatch(describe(value), type_name, self.struct, self.fields)

    def unknown(self, name: str) -> None:
        """Record an unknown field."""
        if self.report and not is_enough(self.unknown_paths):
            self.unknown_paths[_text((self.path, f".{name}"))] = None

    def nested(self, go_type: GoType, value: Any) -> None:
        """Check a value as a custom UnmarshalJSON does: with a new decoder that is never strict. Raises its error."""
        inner = Decoder(report=False)
        try:
            # No frame for `run`, since schemas nest deeply.
            go_type.check(value, inner)
            inner.raise_saved()
        except TypeMismatchError as error:
            raise _mismatch(error.value, error.type_name, self.struct, (*self.fields, *error.fields)) from None


def describe(value: Any) -> str:
    """Return Go's name of the type of a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"


class GoType:
    """A Go type as JSON sees it."""

    __slots__ = ("name",)
    plain: type | None = None
    """A type of Python whose values are valid and canonical."""

    def __init__(self, name: str) -> None:
        self.name = name
        """Name in errors."""

    def check(self, value: Any, decoder: Decoder) -> None:
        """Report the errors of a decoded JSON value to the decoder."""
        raise NotImplementedError

    def canonical(self, value: Any) -> Any:
        """Return the value as Go writes it. A value of another type counts as absent."""
        raise NotImplementedError

    def empty(self, value: Any) -> bool:
        """Return whether `omitempty` omits a canonical value."""
        return not value


class String(GoType):
    """string, or a type based on it."""

    __slots__ = ()
    plain = str

    def __init__(self, name: str = "string") -> None:
        super().__init__(name)

    def check(self, value: Any, decoder: Decoder) -> None:
        if not isinstance(value, str) and value is not None:
            decoder.mismatch(value, self.name)

    def canonical(self, value: Any) -> Any:
        return value if isinstance(value, str) else ""


class Bool(GoType):
    """bool."""

    __slots__ = ()
    plain = bool

    def __init__(self) -> None:
        super().__init__("bool")

    def check(self, value: Any, decoder: Decoder) -> None:
        if not isinstance(value, bool) and value is not None:
            decoder.mismatch(value, self.name)

    def canonical(self, value: Any) -> Any:
        return value is True


class Int(GoType):
    """An integer of `bits` bits."""

    __slots__ = ("limit", "lowest")

    def __init__(self, bits: int, *, signed: bool = True) -> None:
        super().__init__(f"int{bits}" if signed else f"uint{bits}")
        self.limit = 2 ** (bits - 1) if signed else 2**bits
        self.lowest = -self.limit if signed else 0

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is None:
            return
        if isinstance(value, bool) or not isinstance(value, int | float):
            decoder.mismatch(value, self.name)
        elif isinstance(value, float) or not self.lowest <= value < self.limit:
            decoder.mismatch(value, self.name, f"number {formatting.number(value)}")

    def canonical(self, value: Any) -> Any:
        return value if isinstance(value, int) and self.lowest <= value < self.limit else 0


class Float(GoType):
    """float64; whole numbers stay integers, which Go writes the same way."""

    __slots__ = ()
    exact = 2**53

    def __init__(self) -> None:
        super().__init__("float64")

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            decoder.mismatch(value, self.name)

    def canonical(self, value: Any) -> Any:
        if not isinstance(value, int | float):
            return 0
        if isinstance(value, int):
            return value if -self.exact < value < self.exact else float(value)
        return int(value) if value.is_integer() and -self.exact < value < self.exact else value


class Raw(GoType):
    """Any JSON value; one that Go keeps as raw JSON keeps the order of its members."""

    __slots__ = ("keep_order",)

    def __init__(self, name: str, *, keep_order: bool = False) -> None:
        super().__init__(name)
        self.keep_order = keep_order

    def check(self, value: Any, decoder: Decoder) -> None:
        pass

    def canonical(self, value: Any) -> Any:
        return value if self.keep_order else sort(value)

    def empty(self, value: Any) -> bool:
        return value is None


def sort(value: Any) -> Any:
    """Return a JSON value with sorted keys."""
    if isinstance(value, dict):
        return {key: sort(value[key]) for key in sorted(value)}
    return [sort(item) for item in value] if isinstance(value, list) else value


class Pointer(GoType):
    """A pointer: null and absent are nil, and nil is omitted."""

    __slots__ = ("plain", "to")

    def __init__(self, to: GoType) -> None:
        super().__init__(to.name)
        self.to = to
        self.plain = to.plain

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is not None:
            self.to.check(value, decoder)

    def canonical(self, value: Any) -> Any:
        return None if value is None else self.to.canonical(value)

    def empty(self, value: Any) -> bool:
        return value is None


class Slice(GoType):
    """A slice; null and absent are nil, which Go writes as null."""

    __slots__ = ("of",)

    def __init__(self, of: GoType, name: str = "") -> None:
        super().__init__(name or f"[]{of.name}")
        self.of = of

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is None:
            return
        if not isinstance(value, list):
            decoder.mismatch(value, self.name)
            return
        of, path = self.of, decoder.path
        for index, item in enumerate(value):
            decoder.path = path, f"[{index}]"
            of.check(item, decoder)
        decoder.path = path

    def canonical(self, value: Any) -> Any:
        return list(map(self.of.canonical, value)) if isinstance(value, list) else None


class Map(GoType):
    """map[string]T; keys are written in order."""

    __slots__ = ("of",)

    def __init__(self, of: GoType, name: str = "") -> None:
        super().__init__(name or f"map[string]{of.name}")
        self.of = of

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is None:
            return
        if not isinstance(value, dict):
            decoder.mismatch(value, self.name)
            return
        of, path = self.of, decoder.path
        for key, item in value.items():
            decoder.path = path, f".{key}"
            of.check(item, decoder)
        decoder.path = path

    def canonical(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return None
        keys = sorted(value)
        return dict(zip(keys, map(self.of.canonical, map(value.__getitem__, keys)), strict=True))
