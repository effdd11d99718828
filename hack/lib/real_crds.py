"""The CustomResourceDefinitions of real projects, which are not part of the repository."""

import json
from pathlib import Path
from typing import Any, Final

REAL: Final = Path(__file__).resolve().parents[3] / "shared" / "crds"
NO_REAL: Final = "the folder of real CRDs is not there"


def real_crds(*folders: str) -> list[dict[str, Any]]:
    """Return the real CRDs of some folders, or of all."""
    paths = [path for path in sorted(REAL.glob("*/*.json")) if not folders or path.parent.name in folders]
    return [json.loads(path.read_text()) for path in paths]


def without_rules(value: Any) -> Any:
    """Return a definition, or a part of it, without CEL rules: random objects rarely satisfy them."""
    if isinstance(value, list):
        return [without_rules(member) for member in value]
    if isinstance(value, dict):
        return {key: without_rules(member) for key, member in value.items() if key != "x-kubernetes-validations"}
    return value
