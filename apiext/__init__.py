"""A Kubernetes API server for custom resources, driven by CustomResourceDefinitions.

The packages in here are floors, and their packages rooms: a docstring says what each owns and what it must not do. Floors import downwards
only; the order is the `floors` contract in pyproject.toml. `evaluation` and `testkit` are doors: names that users may import.
"""

__version__ = "0.1.0"
