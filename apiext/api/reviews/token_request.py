"""The subresource token of service accounts (kubernetes pkg/registry/core/serviceaccount/storage/token.go)."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from apiext.api.authentication.tokens import KeysError
from apiext.api.reviews.review_rest import TOKEN_REQUEST, admit
from apiext.base.meta import errors, field, time
from apiext.base.meta.gvk import GroupKind, GroupResource, parse_group_version
from apiext.base.meta.names import dns1123_subdomain
from apiext.base.random_uuid import random_uuid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from apiext.api.authentication.serviceaccount.service_account_tokens import ServiceAccountTokens
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.registry.request_context import CreateOptions, RequestContext

    Read = Callable[[str, str], Awaitable[Object]]
    """Returns the object of a namespace and name; raises StatusError (404)."""

_KIND: Final = GroupKind(TOKEN_REQUEST.group, TOKEN_REQUEST.kind)
_ISSUED: Final = "authentication.kubernetes.io/issued-credential-id"
_MIN_SECONDS: Final = 600
_MAX_SECONDS: Final = 1 << 32
_DEFAULT_SECONDS: Final = 3600
_SECONDS: Final = field.Path("spec", "expirationSeconds")
_ATTESTATIONS: Final = field.Path("spec", "attestations")
_GROUPS: Final = "admissionReviewAPIGroups"
"""The only attestation of tokens for webhooks."""
_WEBHOOK_TOKENS: Final = "APIServerWebhookAuthenticationToken"
_WEBHOOK_VERSION: Final = "admissionregistration.k8s.io/v1"
_WEBHOOK_KINDS: Final = frozenset({"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"})


def default_token_request(obj: Object) -> None:
    """Set the default expiration."""
    if obj["spec"].get("expirationSeconds") is None:
        obj["spec"]["expirationSeconds"] = _DEFAULT_SECONDS


@dataclass(frozen=True, slots=True)
class TokenRequests:
    """Issues tokens for TokenRequests."""

    tokens: ServiceAccountTokens
    service_account: Read
    secret: Read

    async def answer(self, ctx: RequestContext, request: Object, options: CreateOptions) -> Object:
        """Return a request with its token.

        Raises:
            StatusError: the request is invalid, or the service account or the object to bind to does not exist.
        """
        metadata, spec = dict(request["metadata"]), dict(request["spec"])
        if metadata.get("name", ctx.name) != ctx.name:
            problem = field.invalid(field.Path("metadata", "name"), metadata["name"], "must match the service account name if specified")
            raise errors.invalid(_KIND, ctx.name, [problem])
        account = await self.service_account(ctx.namespace, ctx.name)
        _check_uid(metadata.get("uid", ""), account["metadata"]["uid"], ctx.name)
        moment = clock.time()
        spec["audiences"] = spec.get("audiences") or list(self.tokens.audiences)
        metadata |= {"name": ctx.name, "namespace": ctx.namespace, "uid": account["metadata"]["uid"], "creationTimestamp": time.now()}
        request = {"metadata": metadata, "spec": spec, "status": {}}
        if problems := _problems(spec):
            raise errors.invalid(_KIND, "", problems)
        await admit(options, request)
        bound = await self._bound(ctx.namespace, spec.get("boundObjectRef"))
        seconds: int = spec["expirationSeconds"]
        token_id, audiences = random_uuid(), spec["audiences"]
        try:
            token = await self.tokens.issue(account, token_id=token_id, seconds=seconds, audiences=audiences, bound=bound, moment=moment)
        except KeysError as error:
            raise errors.internal(f"failed to generate token: {error}") from error
        if ctx.annotations is not None:
            ctx.annotations[_ISSUED] = f"JTI={token_id}"
        expires = time.rfc3339(datetime.fromtimestamp(moment, UTC) + timedelta(seconds=seconds))
        return {**request, "status": {"token": token, "expirationTimestamp": expires}}

    async def _bound(self, namespace: str, reference: Object | None) -> dict[str, Object]:
        """Return the object of a reference by its kind in lower case. Raises StatusError."""
        if reference is None:
            return {}
        name, uid, version = reference.get("name", ""), reference.get("uid", ""), reference.get("apiVersion", "")
        try:
            group, version = parse_group_version(version)
        except ValueError:
            # FromAPIVersionAndKind of the reference
            group = version = ""
        kind = reference.get("kind", "")
        if group or kind not in {"Secret", "Pod", "Node"}:
            disabled = f" (feature gate {_WEBHOOK_TOKENS} is disabled)" if _is_webhook(reference) else ""
            raise errors.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}{disabled}")
        if kind != "Secret":
            # this server has none of these
            raise errors.not_found(GroupResource("", f"{kind.lower()}s"), name)
        secret = await self.secret(namespace, name)
        if uid and uid != secret["metadata"]["uid"]:
            detail = (
                f"the UID in the bound object reference ({uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
            raise errors.conflict(GroupResource("", kind), name, detail)
        return {"secret": secret}


def _check_uid(named: str, uid: str, name: str) -> None:
    if named and named != uid:
        detail = f"the UID in the token request ({named}) does not match the UID of the service account ({uid})"
        raise errors.conflict(GroupResource(TOKEN_REQUEST.group, TOKEN_REQUEST.kind), name, detail)


def _problems(spec: Object) -> list[field.FieldError]:
    seconds, problems = spec["expirationSeconds"], []
    if seconds < _MIN_SECONDS:
        problems.append(field.invalid(_SECONDS, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > _MAX_SECONDS:
        problems.append(field.invalid(_SECONDS, seconds, "may not specify a duration larger than 2^32 seconds"))
    attestations = spec.get("attestations")
    if _is_webhook(spec.get("boundObjectRef") or {}):
        if len(spec["audiences"]) != 1:
            path = field.Path("spec", "audiences")
            problems.append(field.invalid(path, spec["audiences"], "must be length 1 when bound to a webhook config"))
        return problems + _attestation_problems(attestations)
    if attestations:
        detail = "attestations may only be specified with a webhook bound object reference"
        return [field.invalid(_ATTESTATIONS, attestations, detail)]
    return problems


def _is_webhook(reference: Object) -> bool:
    """Return whether a reference is to a configuration of webhooks; such tokens exist behind a gate that is off."""
    return reference.get("kind") in _WEBHOOK_KINDS and reference.get("apiVersion") == _WEBHOOK_VERSION


def _attestation_problems(attestations: Object | None) -> list[field.FieldError]:
    if not attestations or len(attestations) != 1:
        return [field.invalid(_ATTESTATIONS, attestations, f"webhook bound requests require exactly one {_GROUPS} attestation")]
    ((key, values),) = attestations.items()
    path = _ATTESTATIONS.key(key)
    if key != _GROUPS:
        return [field.not_supported(path, key, [_GROUPS])]
    if len(values or ()) != 1:
        return [field.invalid(path, values, "must specify a single value")]
    group, at = values[0], path.index(0)
    if not group:
        return [field.invalid(at, group, "may not be an empty string")]
    if group == "*":
        return []
    return [field.invalid(at, group, f"must specify a valid API Group: {reason}") for reason in dns1123_subdomain(group)]
