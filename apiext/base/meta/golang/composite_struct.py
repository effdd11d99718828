"""Go structs with embedded structs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.golang.struct_type import Field, Struct

if TYPE_CHECKING:
    from collections.abc import Iterator


class CompositeStruct(Struct):
    """A struct with embedded structs that have messages of their own in Protobuf. In JSON their fields are its own."""

    __slots__ = ("embedded", "path")

    def __init__(self, struct: str, package: str, path: str) -> None:
        super().__init__(struct, package)
        self.path = path
        """The package's path and the name, such as core/v1.Pod."""
        self.embedded: tuple[tuple[int, Struct], ...] = ()
        """The embedded structs and their numbers. `by_name` has their fields without numbers."""


def promoted(embedded: Struct, name: str) -> Iterator[Field]:
    """Yield the fields of an embedded struct. Its own message has their numbers."""
    for field in embedded.by_name.values():
        yield Field(field.name, field.type, omit_empty=field.omit_empty, embedded=(name, *field.embedded))
