"""Composition of API Priority and Fairness."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.api.flowcontrol.configuration.bootstrap import bootstrap_flow_schemas, bootstrap_priority_levels
from apiext.api.flowcontrol.configuration.configuration import BOOTSTRAP
from apiext.api.flowcontrol.flow_control import FlowControl
from apiext.api.flowcontrol.work_estimator import ObjectStats
from apiext.api.serving.builtin.kinds import endpoints_of
from apiext.base.meta.builtin_resources import BUILTINS, FLOW_SCHEMAS, FLOWCONTROL_V1, PRIORITY_LEVEL_CONFIGURATIONS
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupResource
from apiext.base.scheduling.tasks import run_until_closed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack

    from apiext.api.admission.attributes import Admission
    from apiext.api.endpoints.scopes.open_watches import Watches
    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.base.meta.builtin_resources import BuiltinGroupVersion
    from apiext.server.host.clients import HostClients
    from apiext.server.options.options import ServerOptions
    from apiext.storage.factory import StoreFactory

_STORED: Final = {one.resource.group_resource: one.stored_resource for group in BUILTINS for one in group.resources}
_REVISION: Final = 1
"""The resourceVersion of the bootstrap objects; it grows when a release changes them."""


def open_flow_control(options: ServerOptions, stores: StoreFactory, clients: HostClients, stack: AsyncExitStack) -> FlowControl | None:
    """Return the flow control of a server, None if flags disable it; `stack` stops it.

    Behind a host, the host's objects apply, and the mandatory ones until those are read. A standalone server uses the bootstrap objects.

    Raises:
        StartError: the host's address or credentials are invalid.
    """
    limits = options.limits
    if not limits.priority_and_fairness:
        return None
    seats = limits.max_in_flight + limits.max_mutating_in_flight
    control = FlowControl(seats=seats, part=limits.part, objects=partial(_objects, stores))
    run_until_closed(stack, control.controller.run())
    if options.host is None:
        control.configure(BOOTSTRAP)
    else:
        # most servers have no host
        from apiext.server.host.flow_control_objects import follow_host

        follow_host(control, clients.client(options.host), stack)
    return control


def _objects(stores: StoreFactory, group: str, resource: str) -> ObjectStats | None:
    asked = GroupResource(group, resource)
    known = stores.known_size(_STORED.get(asked, asked))
    if known is None:
        return None
    number, stored_bytes = known
    return ObjectStats(number, stored_bytes // number if number else 0)


def bootstrap_endpoints(
    builtins: Sequence[BuiltinGroupVersion], stores: StoreFactory, admission: Admission, watches: Watches
) -> list[BuiltinEndpoint]:
    """Return the endpoints of the bootstrap objects of a standalone server, which are not in its store."""
    if FLOWCONTROL_V1 not in builtins:
        return []
    for resource, objects in ((FLOW_SCHEMAS, bootstrap_flow_schemas()), (PRIORITY_LEVEL_CONFIGURATIONS, bootstrap_priority_levels())):
        encoded = {obj["metadata"]["name"]: json_codec.dumps(obj) for obj in objects}
        stores.hold(resource.stored_resource, encoded, revision=_REVISION)
    return endpoints_of([FLOWCONTROL_V1], stores, admission, watches)
