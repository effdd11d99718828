"""Named formats of strings (apiserver pkg/cel/library/format.go)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, cast

from apiext.base.meta import names
from apiext.base.meta.golang.url import parse_request_uri
from apiext.schema.cel.libraries.costs import pattern_cost
from apiext.schema.cel.libraries.library import Library, Overload
from apiext.schema.cel.types import STRING, CelType, list_of, optional_of
from apiext.schema.cel.values.run_time_values import OPTIONAL_NONE, OpaqueValue, OptionalValue
from apiext.schema.strfmt.registry import Predicate, format_checker

_FORMAT: Final = CelType("kubernetes.NamedFormat")


@dataclass(frozen=True, slots=True)
class FormatValue(OpaqueValue):
    """A format: its name, its check of a text, and the length of a regular expression with the same cost."""

    cel_type: ClassVar[CelType] = _FORMAT
    name: str
    errors: Callable[[str], list[str]]
    pattern_length: int


def _uri_errors(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except ValueError as error:
        return [str(error)]
    return []


def _checked(name: str, message: str) -> Callable[[str], list[str]]:
    """Return a check that gives the message about a text that is not in a schema format."""
    check = cast("Predicate", format_checker(name))
    return lambda text: [] if check(text) else [message]


_DATE_TIME_LENGTH: Final = 71

_FORMATS: Final = {
    "dns1123Label": FormatValue("DNS1123Label", names.name_is_dns_label, 30),
    "dns1123Subdomain": FormatValue("DNS1123Subdomain", names.name_is_dns_subdomain, 60),
    "dns1035Label": FormatValue("DNS1035Label", names.name_is_dns1035_label, 30),
    "qualifiedName": FormatValue("QualifiedName", names.label_key, 60),
    "dns1123LabelPrefix": FormatValue("DNS1123LabelPrefix", lambda text: names.name_is_dns_label(text, prefix=True), 30),
    "dns1123SubdomainPrefix": FormatValue("DNS1123SubdomainPrefix", lambda text: names.name_is_dns_subdomain(text, prefix=True), 60),
    "dns1035LabelPrefix": FormatValue("DNS1035LabelPrefix", lambda text: names.name_is_dns1035_label(text, prefix=True), 30),
    "labelValue": FormatValue("LabelValue", names.label_value, 40),
    "uri": FormatValue("URI", _uri_errors, 1103),
    "uuid": FormatValue("uuid", _checked("uuid", "does not match the UUID format"), 70),
    "byte": FormatValue("byte", _checked("byte", "invalid base64"), 84),
    "date": FormatValue("date", _checked("date", "invalid date"), _DATE_TIME_LENGTH),
    "datetime": FormatValue("datetime", _checked("datetime", "invalid datetime"), _DATE_TIME_LENGTH),
}


def _named(name: str) -> OptionalValue:
    return OptionalValue(_FORMATS[name]) if name in _FORMATS else OPTIONAL_NONE


def _validate(named: FormatValue, text: str) -> OptionalValue:
    errors = named.errors(text)
    return OptionalValue(errors) if errors else OPTIONAL_NONE


def _validate_cost(arguments: Sequence[object], _result: object) -> int:
    named, text = cast("tuple[FormatValue, str]", arguments)
    return pattern_cost(len(text), named.pattern_length)


def _constant(name: str) -> tuple[Overload, ...]:
    return (Overload(id=f"format.{name}", parameters=(), result=_FORMAT, implementation=lambda: _FORMATS[name]),)


FORMAT: Final = Library(
    name="kubernetes.format",
    functions={
        "format.named": (Overload(id="format-named", parameters=(STRING,), result=optional_of(_FORMAT), implementation=_named),),
        **{f"format.{name}": _constant(name) for name in _FORMATS},
        "validate": (
            Overload(
                id="format-validate",
                parameters=(_FORMAT, STRING),
                result=optional_of(list_of(STRING)),
                implementation=_validate,
                member=True,
                cost=_validate_cost,
            ),
        ),
    },
)
