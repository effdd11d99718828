"""The webhook that holds writes at a host."""

from typing import Any

import pytest

from apiext.base.meta.host_annotations import HOLD_MESSAGE, HOLD_PATH
from tests.support.servers.in_process import InProcess

REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "705ab4f5", "object": {"spec": {}}}}


async def test_denies_so_that_clients_try_again() -> None:
    """Answer each review with 429 and the seconds to wait, which kube-apiserver passes on."""
    async with InProcess() as server:
        answer = await server.ask("POST", HOLD_PATH, REVIEW)

    assert (answer.status, answer.json) == (
        200,
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {
                "uid": "705ab4f5",
                "allowed": False,
                "status": {
                    "status": "Failure",
                    "message": HOLD_MESSAGE,
                    "reason": "TooManyRequests",
                    "details": {"retryAfterSeconds": 1},
                    "code": 429,
                },
            },
        },
    )


@pytest.mark.parametrize(
    "method, body, code",
    [
        ("GET", None, 405),
        ("POST", b"{", 400),
        ("POST", [], 400),
        ("POST", {**REVIEW, "apiVersion": "admission.k8s.io/v1beta1"}, 400),
        ("POST", {**REVIEW, "request": {"uid": 5}}, 400),
        ("POST", {**REVIEW, "request": None}, 400),
        ("POST", b" " * (3 * 1024 * 1024 + 1), 413),
    ],
)
async def test_refuses_what_is_no_review(method: str, body: Any, code: int) -> None:
    """Refuse other requests with the reason."""
    async with InProcess() as server:
        assert (await server.ask(method, HOLD_PATH, body)).status == code
