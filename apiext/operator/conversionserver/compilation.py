"""Makes the converter of a CRD from its Conversion object."""

from __future__ import annotations

from contextlib import suppress
from itertools import permutations
from typing import TYPE_CHECKING, Final

from apiext.operator.conversionserver.conversions import MadeConverter
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.building import build_rules, problem_text
from apiext.resources.conversion.rules.check.document_check import check_compiled, crd_schemas
from apiext.resources.conversion.rules.finish import finisher
from apiext.resources.conversion.rules.interface import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.operator.api_clients import Json
    from apiext.resources.conversion.rules.converter import RulesConverter
    from apiext.schema.compiled import CompiledSchema


def compile_conversion(crd: Json, conversion: Json, *, in_use: bool) -> MadeConverter:
    """Implement Compile with the code of the server. Take seconds for very large rules: all pairs of versions are compiled."""
    schemas = crd_schemas(crd)
    storage = next(version["name"] for version in crd["spec"]["versions"] if version["storage"])
    built = build_rules(crd["metadata"]["name"], conversion, schemas, storage, in_use=in_use)
    if built.converts:
        for source, target in permutations(schemas, 2):
            # the conversions between these two say so
            with suppress(ConversionError):
                built.compiled.transformation(source, target)
    if built.rules is not None:
        check_compiled(built.rules, built.compiled, schemas, built.report)
    return MadeConverter(PruningConverter(built.converter, schemas), problem_text(built.report), built.converts)


class PruningConverter:
    """Implements ObjectConverter: prunes objects by the schema of their version, as rules expect them.

    kube-apiserver prunes when objects are written, and sends them as they are stored, also after the schema has changed.
    """

    def __init__(self, converter: RulesConverter, schemas: Mapping[str, CompiledSchema]) -> None:
        self._converter = converter
        self._prune: Final = {version: finisher(schema) for version, schema in schemas.items()}

    def convert_inline(self, obj: Object, api_version: str) -> Object:
        """Implement ObjectConverter.convert_inline."""
        version = obj["apiVersion"].rpartition("/")[2]
        if version not in self._prune:
            raise ConversionError(f"the CRD has no version {version}")
        self._prune[version](obj, UNKNOWN)
        return self._converter.convert_inline(obj, api_version)
