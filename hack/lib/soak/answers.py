"""Server errors that are correct answers."""

import re
from typing import Final

REFERENCE_ERRORS: Final = re.compile(
    r"etcdserver: request is too large"
    r"|rpc error: code = ResourceExhausted desc = trying to send message larger than max .*"
    r"|resourceVersion should not be set on objects to be created"
    r"|(resourceVersion: Invalid value: .*: )?strconv\.ParseUint: parsing .*"
    r"|content is not a list"
    r"|Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'"
    r'|Internal error occurred: the spec replicas field ".*" does not exist'
    r"|(Internal error occurred: )?(failed to read one or more|object not decodable|conversion webhook for) .*"
    r"|(Internal error occurred: )?StorageError: corrupt object, .*"
    r"|Internal error occurred: failed calling webhook .*"
    r"|Internal error occurred: (add|remove|replace|move|copy|test) operation does not apply: .*"
    r"|Internal error occurred: Unable to complete the copy, the accumulated size increase of copy is \d+, exceeding the limit 3145728"
    r"|Internal error occurred: the patched object is nested deeper than 200 levels"
    r'|\S+/v1, Kind=\w+ is unstructured and is not suitable for converting to "v1"'
    r"|Internal error occurred: admission webhook .* attempted to modify the object, which is not supported for this operation"
    r"|Timeout: Too large resource version: .*"
    r"|Timeout: request did not complete within.*",
    re.DOTALL,
)
"""Messages that the reference answers with a 5xx code, too; for a deeply nested object it has others."""


def is_allowed(status: int, message: str) -> bool:
    """Return whether an answer is allowed: no server error, the same answer as the reference's, or a deadline."""
    return status < 500 or status == 504 or bool(REFERENCE_ERRORS.fullmatch(message))
