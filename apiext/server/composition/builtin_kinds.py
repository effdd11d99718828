"""Composition of the kinds from generated data, which --builtin-kinds adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.meta.builtin_resources import BUILTINS, INTERNAL_V1ALPHA1

if TYPE_CHECKING:
    from apiext.admission.attributes import Admission
    from apiext.endpoints.scopes.open_watches import Watches
    from apiext.meta.builtin_resources import BuiltinGroupVersion
    from apiext.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.storage.factory import StoreFactory


@dataclass(frozen=True, slots=True)
class BuiltinKinds:
    """Further built-in resources and their endpoints."""

    groups: tuple[BuiltinGroupVersion, ...] = ()
    endpoints: tuple[BuiltinEndpoint, ...] = ()

    def beside(self, builtins: tuple[BuiltinGroupVersion, ...]) -> tuple[BuiltinGroupVersion, ...]:
        """Return the built-in group versions with the further resources."""
        if not self.groups:
            return builtins
        from apiext.meta.generated.resources import joined

        return joined(builtins, self.groups)


NO_KINDS: Final = BuiltinKinds()


def open_builtin_kinds(stores: StoreFactory, admission: Admission, watches: Watches) -> BuiltinKinds:
    """Return the kinds of the data that apiext does not always serve. Each is made on its first request."""
    from apiext.meta.generated.resources import further_resources
    from apiext.serving.generated.endpoints import further_endpoints

    groups = further_resources((*BUILTINS, INTERNAL_V1ALPHA1))
    return BuiltinKinds(groups, tuple(further_endpoints(groups, stores, admission, watches)))
