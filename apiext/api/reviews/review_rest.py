"""Resources with the verb create alone: they answer an object and store nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from apiext.base.meta import errors
from apiext.base.meta.builtin_resources import BuiltinGroupVersion, BuiltinResource, builtin_resource
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupVersion, GroupVersionKind
from apiext.base.meta.request import AdmissionOperation
from apiext.storage.interface import Item

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupResource
    from apiext.resources.registry.builtin.kind import TypedCodec
    from apiext.resources.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions, Updater
    from apiext.storage.interface import ListOptions, ListResult, Watch, WatchOptions

    Answer = Callable[[RequestContext, Object, CreateOptions], Awaitable[Object]]


async def admit(options: CreateOptions, review: Object) -> None:
    """Let validating admission see a valid object before it is answered. Raises StatusError."""
    if options.admit is not None:
        await options.admit(AdmissionOperation.CREATE, review, None)


@dataclass(frozen=True, slots=True, eq=False)
class ReviewRest:
    """Creates by a function that returns the answer to a decoded object; it raises StatusError. The other verbs are refused."""

    codec: TypedCodec
    resource: GroupResource
    answer: Answer

    async def create(self, ctx: RequestContext, obj: Object, options: CreateOptions) -> Item:
        """Return the answer to an object in its canonical form."""
        kind = self.codec.gvk
        typed: Object = self.codec.struct.canonical(obj)
        answer = await self.answer(ctx, typed, options)
        answered = self.codec.struct.canonical({**answer, "kind": kind.kind, "apiVersion": kind.api_version})
        return Item(key="", revision=0, data=json_codec.dumps(answered, sort_keys=False), labels={}, fields={})

    async def get(self, ctx: RequestContext, name: str, *, resource_version: str = "") -> Item:
        """Refuse to get an object."""
        self._refuse("get")

    async def update(self, ctx: RequestContext, name: str, updater: Updater, options: UpdateOptions) -> tuple[Item, bool]:
        """Refuse to update an object."""
        self._refuse("update")

    async def list(self, ctx: RequestContext, options: ListOptions) -> ListResult:
        """Refuse to list objects."""
        self._refuse("list")

    async def watch(self, ctx: RequestContext, options: WatchOptions) -> Watch:
        """Refuse to watch objects."""
        self._refuse("watch")

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Refuse to delete an object."""
        self._refuse("delete")

    async def delete_unreadable(self, ctx: RequestContext, name: str, *, dry_run: bool) -> None:
        """Refuse to delete an object."""
        self._refuse("delete")

    async def delete_collection(self, ctx: RequestContext, options: DeleteOptions, list_options: ListOptions) -> ListResult:
        """Refuse to delete objects."""
        self._refuse("deletecollection")

    def _refuse(self, verb: str) -> NoReturn:
        raise errors.method_not_supported(self.resource, verb)


_CREATE: Final = ("create",)
TOKEN_REQUEST: Final = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")


def _review(group: str, kind: str, *, namespaced: bool = False) -> BuiltinResource:
    return builtin_resource(GroupVersionKind(f"{group}.k8s.io", "v1", kind), namespaced=namespaced, verbs=_CREATE)


TOKEN_REVIEWS: Final = _review("authentication", "TokenReview")
SELF_SUBJECT_REVIEWS: Final = _review("authentication", "SelfSubjectReview")
LOCAL_SUBJECT_ACCESS_REVIEWS: Final = _review("authorization", "LocalSubjectAccessReview", namespaced=True)
SELF_SUBJECT_ACCESS_REVIEWS: Final = _review("authorization", "SelfSubjectAccessReview")
SELF_SUBJECT_RULES_REVIEWS: Final = _review("authorization", "SelfSubjectRulesReview")
SUBJECT_ACCESS_REVIEWS: Final = _review("authorization", "SubjectAccessReview")

AUTHENTICATION_V1: Final = BuiltinGroupVersion(
    GroupVersion("authentication.k8s.io", "v1"), 17700, 15, (SELF_SUBJECT_REVIEWS, TOKEN_REVIEWS)
)
AUTHORIZATION_V1: Final = BuiltinGroupVersion(
    GroupVersion("authorization.k8s.io", "v1"),
    17600,
    15,
    (LOCAL_SUBJECT_ACCESS_REVIEWS, SELF_SUBJECT_ACCESS_REVIEWS, SELF_SUBJECT_RULES_REVIEWS, SUBJECT_ACCESS_REVIEWS),
)
REVIEWS: Final = (AUTHENTICATION_V1, AUTHORIZATION_V1)
"""Groups of a standalone server; behind a kube-apiserver, that one has them."""
