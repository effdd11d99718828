"""Field sets in the reference's form."""

import orjson

from apiext.resources.managedfields import element
from apiext.resources.managedfields.field_set import ITSELF, LEAF, FieldSet


def written(fields: FieldSet) -> str:
    """Return FieldsV1 with its keys in the reference's order."""
    return orjson.dumps(_ordered(fields)).decode()


def _ordered(fields: FieldSet) -> FieldSet:
    names = sorted((key for key in fields if key != ITSELF), key=element.order)
    own = {ITSELF: LEAF} if ITSELF in fields else {}
    return own | {name: _ordered(fields[name]) for name in names}
