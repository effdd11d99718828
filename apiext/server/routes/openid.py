"""The documents by which other servers verify the tokens of service accounts (kubernetes pkg/routes/openidmetadata.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aiohttp import hdrs, web

from apiext.api.authentication.tokens import KeysError
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec

if TYPE_CHECKING:
    from apiext.api.authentication.serviceaccount.service_account_tokens import ServiceAccountTokens

CONFIGURATION: Final = "/.well-known/openid-configuration"
KEYS: Final = "/openid/v1/jwks"
_CACHING: Final[dict[str, str]] = {hdrs.CACHE_CONTROL: "public, max-age=3600"}
_NOT_ALLOWED: Final = "the server does not allow this method on the requested resource"


class OpenIDDocuments:
    """Answers requests for the discovery document and the public keys."""

    def __init__(self, tokens: ServiceAccountTokens, url: str) -> None:
        """Create the handler; `url` is that of the server."""
        self._tokens = tokens
        self._url = url

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return one of the documents.

        Raises:
            StatusError: 405 for other methods, 500 if the keys cannot be read or written.
        """
        if request.path not in {CONFIGURATION, KEYS}:
            return text_reply("404 page not found", status=404)
        if request.method != hdrs.METH_GET:
            raise errors.StatusError(405, "MethodNotAllowed", _NOT_ALLOWED, {})
        try:
            keys = (await self._tokens.keys()).verifying
        except KeysError as error:
            raise errors.internal(str(error)) from error
        if request.path == KEYS:
            document: object = {"keys": [key.as_jwk() for key in keys]}
            return Reply(json_codec.dumps(document, sort_keys=False), content_type="application/jwk-set+json", headers=_CACHING)
        document = {
            "issuer": self._tokens.issuers[0],
            "jwks_uri": f"{self._url}{KEYS}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted({key.algorithm for key in keys}),
        }
        return Reply(json_codec.dumps(document, sort_keys=False), content_type="application/json", headers=_CACHING)
