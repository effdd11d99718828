"""Functions of the environments by Kubernetes version."""

import pytest

from apiext.schema.cel.rule_compiler import compile_expression
from apiext.schema.cel.syntax.source import CompileError
from apiext.schema.cel.versions import new_environment, stored_environment


@pytest.mark.parametrize(
    "source",
    [
        "'a'.charAt(0)",
        "[2, 1].sort()",
        "[2, 1].sortBy(x, x)",
        "sets.contains([1], [1])",
        "'a'.find('a')",
        "url('/a').getHost()",
        "quantity('1').isInteger()",
        "ip('::1').family()",
        "cidr('::/0').ip()",
        "format.dns1123Label().validate('a').hasValue()",
        "semver('1.0', true).major()",
        "optional.of(1).orValue(2)",
        "[1][?0].or(optional.none())",
        "{'a': 1}.transformMap(k, v, v + 1)",
        "type(ip('::1')) == net.IP",
        "type(optional.none()) == optional_type",
    ],
)
def test_libraries_of_both_environments(source: str) -> None:
    """Both environments have the libraries of Kubernetes 1.34."""
    for environment in (new_environment(), stored_environment()):
        assert compile_expression(source, environment).source == source


def test_includes_is_stored_only() -> None:
    """The method `includes` is in stored expressions only: Kubernetes 1.36 does not know it."""
    assert compile_expression("[1].includes(1)", stored_environment()).overloads

    with pytest.raises(CompileError, match="undeclared reference to 'includes'"):
        compile_expression("[1].includes(1)", new_environment())


@pytest.mark.parametrize(
    "source",
    [
        "math.greatest(1, 2)",
        "base64.encode(b'a')",
        "cel.bind(x, 1, x)",
        "jsonpatch.escapeKey('a')",
        "'a'.reverse()",
        "strings.format('a')",
        "regex.extract('a', 'a')",
        "kubernetes.Quantity",
        "authorizer.path('/')",
    ],
)
def test_other_libraries_are_unknown(source: str) -> None:
    """Functions of libraries and versions that rules cannot use are rejected."""
    with pytest.raises(CompileError):
        compile_expression(source, stored_environment())


def test_overloads_have_unique_identifiers() -> None:
    """No two overloads of the environment share an identifier."""
    identifiers = [overload.id for overloads in stored_environment().functions.values() for overload in overloads]

    assert sorted(set(identifiers)) == sorted(identifiers)
