"""Hostile arguments for functions in rules."""

import contextlib
from collections.abc import Callable
from typing import Any, Final

from apiext.schema.cel.errors import BudgetError, CelError
from apiext.schema.cel.versions import stored_environment
from tests.support.growth.measure import Case


def _call(overload_id: str, name: str, make: Callable[[int], tuple[Any, ...]]) -> Case:
    """Return the case for an overload of the stored environment. `make` returns its arguments."""
    overloads: Any = stored_environment().functions[name]
    (overload,) = [each for each in overloads if each.id == overload_id]

    def run(arguments: tuple[Any, ...]) -> None:
        with contextlib.suppress(CelError, BudgetError):
            overload.implementation(*arguments)

    return Case(f"CEL {overload_id}", make, run)


CASES: Final = (
    _call("string_index_of_string", "indexOf", lambda n: ("a" * n, "a" * (n // 2) + "b")),
    _call("string_last_index_of_string", "lastIndexOf", lambda n: ("a" * n, "b" + "a" * (n // 2))),
    _call("string_last_index_of_string_int", "lastIndexOf", lambda n: ("a" * n, "b" + "a" * (n // 2), n - 1)),
    _call("string_replace_string_string", "replace", lambda n: ("a" * n, "", "b" * n)),
    _call("string_split_string", "split", lambda n: ("a" * n, "")),
    _call("string_trim", "trim", lambda n: (" " * n + "a",)),
    _call("string_lower_ascii", "lowerAscii", lambda n: ("É" * n,)),
    _call("strings_quote", "strings.quote", lambda n: ('"' * n,)),
    _call("list_join_string", "join", lambda n: (["a"] * n, "b" * n)),
    _call("list_int_sum_int", "sum", lambda n: ([1] * n,)),
    _call("list_string_min_string", "min", lambda n: (["a"] * n,)),
    _call("list_string_is_sorted_bool", "isSorted", lambda n: (["a"] * n,)),
    _call("list_a_index_of_int", "indexOf", lambda n: ([["a"]] * n, ["b"])),
    _call("list_string_sort", "sort", lambda n: ([str(at % 9) for at in range(n)],)),
    _call("list_distinct", "distinct", lambda n: ([{"a": at} for at in range(n)],)),
    _call("list_flatten_int", "flatten", lambda n: ([[[at]] for at in range(n)], 9)),
    _call("list_sets_contains_list", "sets.contains", lambda n: ([{"a": at} for at in range(n)], [{"a": -at} for at in range(n)])),
    _call("list_sets_equivalent_list", "sets.equivalent", lambda n: ([[at] for at in range(n)], [[at] for at in range(n, 0, -1)])),
    _call("list_sets_intersects_list", "sets.intersects", lambda n: (list(range(n)), list(range(-n, 0)))),
    _call("string_find_all_string", "findAll", lambda n: ("a" * n, "a")),
    _call("string_to_url", "url", lambda n: ("http://" + "[" * n,)),
    _call("is_url_string", "isURL", lambda n: ("/" + "%" * n,)),
    _call("string_to_quantity", "quantity", lambda n: ("1" * n,)),
    _call("string_to_ip", "ip", lambda n: ("1." * n,)),
    _call("is_ip", "isIP", lambda n: (":" * n,)),
    _call("string_to_cidr", "cidr", lambda n: ("1.2.3.4/" + "1" * n,)),
    _call("string_to_semver", "semver", lambda n: ("1.2.3-" + "a." * n,)),
    _call("string_bool_to_semver", "semver", lambda n: ("0" * n + ".1.1", True)),
    _call("optional_unwrap", "optional.unwrap", lambda n: ([None] * n,)),
)
