"""The answer to a TokenRequest."""

import pytest

from apiext.api.authentication.serviceaccount import service_account_tokens as jwt
from apiext.api.reviews.token_request import TokenRequests
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.registry.request_context import CreateOptions, RequestContext
from tests.unit.api.authentication.serviceaccount.test_service_account_tokens import ACCOUNT, tokens_of


async def account(_namespace: str, _name: str) -> Object:
    """Return the service account."""
    return ACCOUNT


@pytest.mark.parametrize("annotations", [None, {}])
async def test_audit_annotation(annotations: dict[str, str] | None) -> None:
    """A recorded request gets an annotation with the id of the token, by which later events of its user are found."""
    context = RequestContext("shop", "token", name="bot", annotations=annotations)
    request: Object = {"metadata": {}, "spec": {"expirationSeconds": 3600}}

    answer = await TokenRequests(tokens_of({}), account, account).answer(context, request, CreateOptions())

    parsed = jwt.parse(answer["status"]["token"])
    assert parsed is not None
    if annotations is not None:
        assert annotations == {"authentication.kubernetes.io/issued-credential-id": f"JTI={parsed.claims['jti']}"}
