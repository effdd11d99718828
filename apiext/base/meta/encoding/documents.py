"""Documents of YAML and JSON files as JSON values."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import orjson

from apiext.base.meta.configuration import json_loader
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_values import is_deeper
from apiext.base.meta.limits import MAX_DEPTH

TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"


class FileProblem(ValueError):  # noqa: N818
    """A file, or a part of it, is invalid. The text says where and why."""


def parse(data: bytes) -> list[Any]:
    """Return the documents of a file as JSON values. Omit empty ones.

    Raises:
        FileProblem: the file is neither JSON nor YAML.
    """
    if data.lstrip()[:1] != b"{":
        return _yaml(data)
    try:
        return [json_codec.loads(data)]
    except orjson.JSONDecodeError as error:
        problem = f"line {error.lineno}, column {error.colno}: {error.msg.partition(': line ')[0]}"
    # Flow-style YAML starts with a brace, too.
    with suppress(FileProblem):
        return _yaml(data)
    raise FileProblem(problem)


def _yaml(data: bytes) -> list[Any]:
    import yaml

    try:
        documents = [document for document in yaml.load_all(data, Loader=json_loader()) if document is not None]
        if any(is_deeper(document, MAX_DEPTH) for document in documents):
            raise FileProblem(TOO_DEEP)
        return [json_codec.loads(orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS)) for document in documents]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise FileProblem(f"{where}{error.problem or error}") from None
    except RecursionError:
        raise FileProblem(TOO_DEEP) from None
    except FileProblem:
        raise
    except yaml.YAMLError as error:
        raise FileProblem(" ".join(str(error).split())) from None
    except (ValueError, TypeError) as error:
        raise FileProblem(f"cannot be converted to JSON: {error}") from None
