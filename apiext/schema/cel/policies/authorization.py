"""Answers of authorization checks that wait outside of an evaluation (apiserver pkg/admission/plugin/authorizer/caching_authorizer.go)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import astuple

from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.schema.cel.libraries.authorization import AuthorizationAnswer, Authorizer, ResourceCheck


class UnansweredCheckError(Exception):
    """An evaluation needs the answer of an authorization check. It must begin again when the answer is known."""

    def __init__(self, user: UserInfo, info: RequestInfo) -> None:
        super().__init__(info.resource or info.path)
        self.user = user
        self.info = info


class AuthorizationAnswers:
    """The answers for one request. Equal checks are made once."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, AuthorizationAnswer] = {}

    def add(self, user: UserInfo, info: RequestInfo, answer: AuthorizationAnswer) -> None:
        """Add an answer."""
        self._answers[_key(user, info)] = answer

    def answer(self, user: UserInfo, info: RequestInfo) -> AuthorizationAnswer:
        """Return the answer of a check.

        Raises:
            UnansweredCheckError: it is not known yet.
        """
        found = self._answers.get(_key(user, info))
        if found is None:
            raise UnansweredCheckError(user, info)
        return found

    def authorizer(self, user: UserInfo) -> Authorizer:
        """Return what `authorizer` is for a user."""
        return Authorizer(user, self.answer)

    def request_resource(self, user: UserInfo, info: RequestInfo) -> ResourceCheck:
        """Return what `authorizer.requestResource` is for a user and the resource of the request."""
        names = {"subresource": info.subresource, "namespace": info.namespace, "name": info.name}
        return ResourceCheck(self.authorizer(user), info.group, info.resource, **names)


def _key(user: UserInfo, info: RequestInfo) -> Hashable:
    extra = tuple(sorted((name, tuple(sorted(values))) for name, values in user.extra.items()))
    return user.name, user.uid, tuple(sorted(user.groups)), extra, astuple(info)
