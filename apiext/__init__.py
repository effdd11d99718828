"""A Kubernetes API server for custom resources, driven by CustomResourceDefinitions.

Every package in here is a room: its docstring says what it owns and what it must not do. Rooms import downwards only;
the order is the `layers` contract in pyproject.toml. No room imports this module's siblings through it.
"""

__version__ = "0.1.0"
