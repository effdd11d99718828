"""`apiext explain` against a running server."""

import json
from pathlib import Path

from click.testing import CliRunner

from apiext.cli.main import apiext
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.waiting import until
from tests.support.builders.crds import crd, widget
from tests.support.builders.definition_pairs import INTEGER, STRING, root, v1
from tests.support.clients.client import CRDS, MERGE_PATCH, Client

GROUP = "explain.example.com"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"


def test_explains_against_a_server(server: ApiextServer, client: Client, tmp_path: Path) -> None:
    """Take the definition and the object before the update from a server; the update is answered as the server answers it."""
    loose = crd("widgets", v1(root(size=INTEGER, host=STRING)), group=GROUP)
    strict = v1(root(size=INTEGER | {"maximum": 5}, host=STRING | {"maxLength": 2}))
    client.ask("POST", CRDS, loose)
    until(lambda: client.ask("POST", WIDGETS, widget("a", group=GROUP, size=9, host="abc")).status == 201)
    client.ask("PATCH", f"{CRDS}/widgets.{GROUP}", {"spec": {"versions": [strict]}}, headers=MERGE_PATCH)
    until(lambda: client.ask("POST", f"{WIDGETS}?dryRun=All", widget("b", group=GROUP, size=9)).status == 422)
    found = client.ask("GET", f"{WIDGETS}/a").json
    update = found | {"spec": {"size": 8, "host": "abc"}}
    (tmp_path / "new.json").write_text(json.dumps(update))

    arguments = ["explain", str(tmp_path / "new.json"), "--kubeconfig", str(server.kubeconfig), "-o", "json"]
    done = CliRunner().invoke(apiext, arguments, standalone_mode=False)

    assert done.exception is None, done.exception
    assert done.return_value == 1
    (explained,) = json.loads(done.output)
    assert (explained["object"], explained["operation"], explained["accepted"]) == ("default/a", "update", False)
    assert [error["path"] for error in explained["errors"]] == ["spec.size"]
    assert [error["path"] for error in explained["tolerated"]] == ["spec.host"]
    reply = client.ask("PUT", f"{WIDGETS}/a", update)
    assert (reply.status, reply.json["message"]) == (422, explained["answer"])
