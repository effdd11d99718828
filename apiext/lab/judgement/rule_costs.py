"""The share of the rules' cost budget that objects use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.schema.cel.rules.budget import MAX_CALL_COST, MAX_OBJECT_COST

if TYPE_CHECKING:
    from apiext.lab.judgement.judged_definition import JudgedVersion
    from apiext.meta.encoding.json_codec import Object
    from apiext.schema.cel.rules.evaluation import RuleResult


class RuleCosts:
    """The object with the largest share. Exact costs are counted only for objects that may have a larger one."""

    def __init__(self) -> None:
        self.share = 0.0
        self.key = ""

    def add(self, key: str, version: JudgedVersion, obj: Object) -> None:
        """Add an object in a version."""
        if not version.schema.has_rules:
            return
        if self.key and _share(version.schema.rule_costs(obj, exact=False)) <= self.share:
            return
        share = _share(version.schema.rule_costs(obj, exact=True))
        if share > self.share or not self.key:
            self.share, self.key = share, key


def _share(costs: RuleResult) -> float:
    return max(costs.spent / MAX_OBJECT_COST, costs.largest / MAX_CALL_COST)
