"""Compiles rules for the schemas of a CRD: one transformation for each pair of versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.conversion.interface import ConversionError
from apiext.conversion.rules.errors import InvalidConversionError
from apiext.conversion.rules.finish import finisher
from apiext.conversion.rules.pipeline import Pipeline
from apiext.conversion.rules.stages import StagedTransformation, StepsStage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.conversion.rules.interface import CompiledRules, Transformation
    from apiext.conversion.rules.model import ConversionRules
    from apiext.conversion.rules.stages import Stage
    from apiext.schema.compiled import CompiledSchema


def compile_rules(rules: ConversionRules, schemas: Mapping[str, CompiledSchema]) -> CompiledRules:
    """Return the rules of a CRD, compiled for the schema of each of its versions by name."""
    return _Compiled(rules, schemas)


class _Compiled:
    """Implements CompiledRules."""

    def __init__(self, rules: ConversionRules, schemas: Mapping[str, CompiledSchema]) -> None:
        self._rules = rules
        self._group = rules.name.partition(".")[2]
        self._schemas = schemas
        self._places = {spoke.version: index for index, spoke in enumerate(rules.spokes)}
        self._pipelines: dict[str, Pipeline] = {}
        self._transformations: dict[tuple[str, str], StagedTransformation] = {}
        self._invalid: dict[tuple[str, str], InvalidConversionError] = {}
        """Why there is no transformation between two versions: invalid expressions, which take long to compile."""

    def transformation(self, source: str, target: str) -> Transformation:
        """Implement CompiledRules.transformation."""
        found = self._transformations.get((source, target))
        if found is not None:
            return found
        if (known := self._invalid.get((source, target))) is not None:
            raise known.copy()
        try:
            found = self._transformations[source, target] = StagedTransformation(self._stages(source, target))
        except InvalidConversionError as error:
            self._invalid[source, target] = error.copy()
            raise
        return found

    def _stages(self, source: str, target: str) -> list[Stage]:
        hub = self._rules.hub
        stages = [self._stage(source, source, hub)] if source != hub else []
        return stages if target == hub else [*stages, self._stage(target, hub, target)]

    def _stage(self, spoke: str, source: str, target: str) -> Stage:
        """Return the stage between the hub and a spoke."""
        pipeline = self._pipelines.get(spoke)
        if pipeline is None:
            pipeline = self._pipelines[spoke] = self._pipeline(spoke)
        finish, api_version = finisher(self._schema(target), pipeline.metadata), f"{self._group}/{target}"
        if not pipeline.has_expressions:
            return StepsStage(pipeline.steps(to_hub=source == spoke), finish, api_version)
        from apiext.conversion.rules.expressions.stage import ExpressionStage

        return ExpressionStage(pipeline.mixed_steps(to_hub=source == spoke), finish, api_version)

    def _pipeline(self, spoke: str) -> Pipeline:
        place = self._places.get(spoke)
        if place is None:
            raise ConversionError(f"the Conversion {self._rules.name} has no rules for version {spoke}")
        return Pipeline(self._rules.spokes[place].rules, place, self._schema(spoke).structural, self._schema(self._rules.hub).structural)

    def _schema(self, version: str) -> CompiledSchema:
        found = self._schemas.get(version)
        if found is None:
            raise ConversionError(f"the Conversion {self._rules.name} names version {version}, which the CRD does not have")
        return found
