"""Unreadable objects of built-in kinds."""

from tests.support.servers.in_process import InProcess

ROLES = "/apis/rbac.authorization.k8s.io/v1/roles"


async def test_errors_name_the_group(server: InProcess) -> None:
    """Name a resource with its group, which the keys of its objects do not have."""
    await server.backend.create("/registry/roles/default/broken", b"{")
    answer = await server.ask("GET", ROLES)

    assert answer.status == 500
    assert "failed to read one or more roles.rbac.authorization.k8s.io from the storage" in answer.message
    assert answer.json["details"]["group"] == "rbac.authorization.k8s.io"
