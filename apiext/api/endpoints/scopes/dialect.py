"""How an endpoint speaks with clients: what differs between custom resources and built-in kinds, whatever they store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.parameters.options import FieldLabel, meta_field_label
from apiext.api.endpoints.serializers.negotiation import RESOURCE_OFFERS
from apiext.base.meta.limits import MAX_BODY_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.api.endpoints.responsewriters.table import TableConvertor
    from apiext.api.endpoints.serializers.negotiation import Offers
    from apiext.resources.registry.protobuf.kinds import Message

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
CBOR_APPLY_PATCH: Final = "application/apply-patch+cbor"
APPLY_PATCHES: Final = frozenset({APPLY_PATCH, CBOR_APPLY_PATCH})
PATCHES: Final = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
BUILTIN_PATCHES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """What requests may say and answers look like. The defaults are those of custom resources."""

    list_kind: str = ""
    table: TableConvertor | None = None
    """How a Table shows the objects; None if there is none."""
    field_label: FieldLabel = meta_field_label
    """Which labels field selectors may have."""
    typed: bool = False
    """Whether the kind is built in: bodies may omit apiVersion and kind, lists omit empty members."""
    other_versions: Sequence[str] = ()
    """Versions of a built-in kind that are registered but not served."""
    message: Message | None = None
    """The Protobuf message of bodies, for kinds that clients may send in Protobuf."""
    package: str = ""
    """The Go package of a built-in kind, which some of the reference's errors contain."""
    null_rows: bool = False
    """Whether an empty table has null as rows, like the reference's default convertor."""
    patch_types: tuple[str, ...] = PATCHES
    offers: Offers = RESOURCE_OFFERS
    creates_on_update: bool = False
    """Whether PUT creates an object that does not exist."""
    keeps_metadata: bool = False
    """Whether a create keeps the metadata that the server otherwise sets, such as the uid."""
    pins_deleted: bool = False
    """Whether a deletion adds the uid of the object to its preconditions, which admission sees."""
    returns_deleted: bool = False
    """Whether a delete returns the object also when it was removed."""
    strategic_keys: Mapping[str, str] = field(default_factory=dict)
    """Merge keys of lists by the names of parent and field, for strategic merge patches of built-in kinds."""
    max_body: int = MAX_BODY_BYTES
    """Limit of a body in bytes."""
