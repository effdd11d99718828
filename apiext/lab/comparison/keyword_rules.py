"""The rule of each keyword of a schema."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from apiext.lab.comparison.cel_rules import rule_changes
from apiext.lab.comparison.clause_keywords import CLAUSE_RULES
from apiext.lab.comparison.field_keywords import FIELD_RULES
from apiext.lab.comparison.type_keywords import TYPE_RULES
from apiext.lab.comparison.value_keywords import VALUE_RULES, KeywordRule
from apiext.schema.model import RULES

CHILDREN: Final = frozenset({"properties", "items"})
"""Keywords without a rule: the comparison of schemas compares the schemas below them."""
KEYWORD_RULES: Final[Mapping[str, KeywordRule]] = MappingProxyType(
    {**VALUE_RULES, **TYPE_RULES, **FIELD_RULES, **CLAUSE_RULES, RULES: rule_changes}
)
"""Rules by keyword. Keywords that only have a meaning together have the same rule."""
