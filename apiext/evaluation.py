"""Validate, default, prune and convert objects of a CRD in a unit test, without a server.

The answers are those of a server, with its messages: it is the server's own code. `load` reads a CRD. The names of this module stay, as
manifests/STABILITY.md says; crds/README.md has examples.
"""

from apiext.resources.evaluation.custom_resource import (
    ApplyRefusedError,
    CustomResource,
    CustomResourceVersion,
    InvalidSourceError,
    RuleCost,
    load,
)
from apiext.resources.evaluation.explanation import ExplainedError, Explanation

__all__ = [
    "ApplyRefusedError",
    "CustomResource",
    "CustomResourceVersion",
    "ExplainedError",
    "Explanation",
    "InvalidSourceError",
    "RuleCost",
    "load",
]
