"""Definitions as the server would create or update them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import NAMESPACE_DNS, uuid5

from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.errors import StatusError
from apiext.resources.definitions.codec import CRDCodec, canonical, compact
from apiext.resources.definitions.conditions import NAMES_ACCEPTED
from apiext.resources.definitions.controllers.naming import AcceptedNames, accepted_names
from apiext.resources.definitions.controllers.reconcile import reconcile_status
from apiext.resources.definitions.definition import Definition
from apiext.resources.registry.customresourcedefinition import CustomResourceDefinitionStrategy
from apiext.resources.registry.metadata import before_create, before_update, own, wipe_system_fields
from apiext.resources.registry.request_context import RequestContext
from apiext.storage.interface import Item

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.base.meta.encoding.json_codec import Object

_STRATEGY: Final = CustomResourceDefinitionStrategy()
_GIVEN_BY_SERVERS: Final = ("resourceVersion", "generation", "managedFields")
_CREATED: Final = "1970-01-01T00:00:00Z"
"""The creation time of all definitions that no server has created: equal files give equal definitions."""
_REVISION: Final = "1"


class DefinitionRefusedError(Exception):
    """A server refuses a definition. `reasons` are its own messages, such as "spec.group: Required value"."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


async def create_definition(draft: Object, others: Iterable[Definition] = ()) -> Definition:
    """Return a definition in canonical form as a server stores it once it is established. Ignore its status.

    `others` are there already: their names are taken.

    Raises:
        DefinitionRefusedError: the server does not create it.
    """
    crd = _without_system_fields(draft)
    try:
        await before_create(RequestContext(), crd, _STRATEGY, namespaced=False)
    except StatusError as error:
        raise DefinitionRefusedError(_reasons(error)) from error
    name = crd["metadata"]["name"]
    crd["metadata"] |= {"uid": str(uuid5(NAMESPACE_DNS, name)), "creationTimestamp": _CREATED, "resourceVersion": _REVISION}
    return parse_definition(reconcile_status(crd, accepted_names(others, crd["spec"]["group"])))


def update_definition(old: Definition, new: Definition | Object) -> Definition:
    """Return the definition as a server stores it after an update of an old one, whose status it keeps.

    A new storage version is added to storedVersions.

    Raises:
        DefinitionRefusedError: the server refuses the update.
    """
    before = old.object
    before["metadata"].setdefault("resourceVersion", _REVISION)
    crd = _without_system_fields(new.object if isinstance(new, Definition) else new)
    crd["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
    try:
        before_update(RequestContext(), crd, before, _STRATEGY, namespaced=False)
    except StatusError as error:
        raise DefinitionRefusedError(_reasons(error)) from error
    return parse_definition(reconcile_status(crd, AcceptedNames()))


def validate_update(old: Definition, new: Definition | Object) -> list[str]:
    """Return the reasons why a server refuses an update of a definition, with ratcheting; none if it accepts it."""
    try:
        update_definition(old, new)
    except DefinitionRefusedError as error:
        return list(error.reasons)
    return []


def settle_names(definition: Definition, others: Iterable[Definition]) -> Definition:
    """Return a definition once a server has accepted its names, or not, beside others."""
    return parse_definition(reconcile_status(definition.object, accepted_names(others, definition.group)))


def names_problem(definition: Definition) -> str:
    """Return why a server does not accept the names of a definition, "" if it does."""
    condition = definition.condition(NAMES_ACCEPTED)
    return str(condition["message"]) if condition is not None and condition["status"] == "False" else ""


def have_same_spec(one: Object, other: Object) -> bool:
    """Report whether two specs in canonical form mean the same: empty lists and maps are as good as none."""
    return json_values.equal(compact(one), compact(other))


def complete_draft(crd: Object) -> list[str]:
    """Give a definition of a file its canonical form, in place. Return the messages about unknown fields.

    Raises:
        ValueError: a field has the wrong type; the text is that of the reference's decoder.
    """
    return CRDCodec().decode_body(crd, True)  # noqa: FBT003 the codec's interface


def stored_bytes(crd: Object) -> bytes:
    """Return a definition as a server stores it."""
    return CRDCodec().encode(crd).stored


def from_stored_bytes(data: bytes) -> Object:
    """Return a definition that a server has stored.

    Raises:
        ValueError: the bytes are not a definition.
    """
    return CRDCodec().decode(data)


def parse_definition(crd: Object) -> Definition:
    """Return a definition that a server has stored.

    Raises:
        ValueError: it has no storage version.
    """
    obj = canonical(crd)
    name, revision = obj["metadata"]["name"], int(obj["metadata"].get("resourceVersion") or 0)
    return Definition.from_item(Item(key=name, revision=revision, data=json_codec.dumps(obj), labels={}, fields={}))


def _without_system_fields(draft: Object) -> Object:
    crd = own(draft)
    wipe_system_fields(crd["metadata"])
    for name in _GIVEN_BY_SERVERS:
        crd["metadata"].pop(name, None)
    return crd


def _reasons(error: StatusError) -> Sequence[str]:
    """Return the field errors of a refusal, or its message."""
    causes = (error.details or {}).get("causes") or ()
    return [": ".join(filter(None, (cause.get("field"), cause["message"]))) for cause in causes] or [error.message]
