"""Discovery and OpenAPI of built-in kinds against the reference."""

from typing import Final

import pytest

from apiext.base.meta.builtin_resources import BuiltinGroupVersion
from apiext.base.meta.generated.resources import further_resources
from hack.lib.differential.pair import Pair, Step

pytestmark = pytest.mark.slow

_READ_ONLY: Final = "flowcontrol.apiserver.k8s.io"
_GROUPS: Final = [group for group in further_resources(()) if group.group_version.group != _READ_ONLY]


@pytest.mark.parametrize("group", _GROUPS, ids=lambda group: str(group.group_version))
def test_documents(builtin_pair: Pair, group: BuiltinGroupVersion) -> None:
    """Describe each resource, path and schema of a group version as the reference does, without its descriptions."""
    version = group.group_version
    path = f"/apis/{version}" if version.group else f"/api/{version}"
    theirs, ours = (side.ask(Step("GET", path)).body["resources"] for side in (builtin_pair.reference, builtin_pair.ours))
    known = {one["name"]: one for one in theirs}
    assert {one["name"]: one for one in ours} == {one["name"]: known[one["name"]] for one in ours}

    theirs, ours = (side.ask(Step("GET", f"/openapi/v3{path}")).body for side in (builtin_pair.reference, builtin_pair.ours))
    schemas = theirs["components"]["schemas"]
    assert ours["paths"] == {name: theirs["paths"][name] for name in ours["paths"]}
    assert ours["components"]["schemas"] == {name: schemas[name] for name in ours["components"]["schemas"]}
