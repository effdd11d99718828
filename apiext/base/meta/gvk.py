"""Identifiers of API types: groups, versions, kinds and resources (apimachinery pkg/runtime/schema)."""

from __future__ import annotations

from typing import NamedTuple


class GroupVersion(NamedTuple):
    """A group and one of its versions; the core group is the empty string."""

    group: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupKind(NamedTuple):
    """A kind without its version, as error messages name it."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupResource(NamedTuple):
    """A resource without its version, as error messages name it."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupVersionKind(NamedTuple):
    """A kind in one version."""

    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> GroupVersion:
        """Return the group and version."""
        return GroupVersion(self.group, self.version)

    @property
    def group_kind(self) -> GroupKind:
        """Return the kind without its version."""
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        """Return the value of an object's apiVersion field."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


class GroupVersionResource(NamedTuple):
    """A resource in one version."""

    group: str
    version: str
    resource: str

    @property
    def group_version(self) -> GroupVersion:
        """Return the group and version."""
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> GroupResource:
        """Return the resource without its version."""
        return GroupResource(self.group, self.resource)


def parse_group_version(api_version: str) -> GroupVersion:
    """Split an apiVersion.

    Raises:
        ValueError: it has more than one slash; the message is the reference's.
    """
    if not api_version or api_version == "/":
        return GroupVersion("", "")
    parts = api_version.split("/")
    if len(parts) == 1:
        return GroupVersion("", parts[0])
    if len(parts) == 2:
        return GroupVersion(parts[0], parts[1])
    raise ValueError(f"unexpected GroupVersion string: {api_version}")
