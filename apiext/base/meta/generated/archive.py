"""The generated data."""

from __future__ import annotations

import zipfile
from importlib.resources import files
from typing import Any

from apiext.base.meta.encoding import json_codec


def read(name: str) -> Any:
    """Return a document of the data: resources, types or schemas. Each call reads it again."""
    with (files("apiext.base.meta.generated") / "data.zip").open("rb") as data, zipfile.ZipFile(data) as archive:
        return json_codec.loads(archive.read(f"{name}.json"))
