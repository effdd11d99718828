"""Writes the default roles and bindings of the reference as data of the package (`hack/bootstrap-policy`)."""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any, Final

from apiext.api.serving.rbac.bootstrap_policy import ANNOTATIONS, LABELS, PLURALS
from hack.lib.servers.controlplane import ControlPlane

_TARGET: Final = Path(__file__).parents[2] / "apiext" / "api" / "serving" / "rbac" / "data" / "bootstrap.json"
_API: Final = "/apis/rbac.authorization.k8s.io/v1"


def main() -> None:
    """Start the reference, and write its policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare the policy with the file")
    check: bool = parser.parse_args().check
    text = policy_text()
    if check and _TARGET.read_text() != text:
        raise SystemExit(f"{_TARGET} is out of date")
    if not check:
        _TARGET.write_text(text)
        print(f"{_TARGET}: {len(text)} bytes")


def policy_text() -> str:
    """Return the policy of a new reference as the text of the file."""
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder), durable=False) as plane:
        found = {plural: plane.client.must("GET", f"{_API}/{plural}")["items"] for plural in PLURALS}
    return text_of(found)


def text_of(objects: dict[str, list[dict[str, Any]]]) -> str:
    """Return lists of objects, by plural, as the text of the file: an object a line, without what all have in common."""
    parts = []
    for plural, items in objects.items():
        lines = [json.dumps(_compact(item), separators=(",", ":")) for item in items]
        parts.append(f'"{plural}":[\n' + ",\n".join(lines) + "\n]")
    return "{" + ",\n".join(parts) + "}\n"


def _compact(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj.pop("metadata")
    assert metadata["annotations"] == ANNOTATIONS, metadata
    labels = {name: value for name, value in metadata["labels"].items() if LABELS.get(name) != value}
    kept = {name: metadata[name] for name in ("name", "namespace") if name in metadata} | ({"labels": labels} if labels else {})
    return {"metadata": kept, **{name: member for name, member in obj.items() if member is not None}}


if __name__ == "__main__":
    main()
