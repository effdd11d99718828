"""Networks in CIDR notation (apiserver pkg/cel/library/cidr.go)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_interface
from typing import ClassVar, Final

from apiext.base.meta.golang.formatting import quote
from apiext.base.meta.golang.netip import prefix_fault
from apiext.schema.cel.errors import NO_SUCH_OVERLOAD, CelError
from apiext.schema.cel.libraries.costs import actual_size, read_once, string_cost
from apiext.schema.cel.libraries.ip import Address, IpValue, is_mapped, parse_ip
from apiext.schema.cel.libraries.library import Cost, Implementation, Library, Overload
from apiext.schema.cel.types import BOOL, INT, STRING, CelType
from apiext.schema.cel.values.run_time_values import OpaqueValue

_CIDR: Final = CelType("net.CIDR")
_FAULT: Final = "network address parse error during conversion from string"
_FORM: Final = re.compile("[^/%]+/(?:0|[1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class CidrValue(OpaqueValue):
    """A network: an address, whose host bits may be set, and the length of the prefix."""

    cel_type: ClassVar[CelType] = _CIDR
    address: Address
    bits: int

    def size(self) -> int:
        """Return the bytes of the prefix."""
        return -(-self.bits // 8)

    def __str__(self) -> str:
        """Return the canonical text."""
        return f"{self.address}/{self.bits}"

    def prefix(self, bits: int) -> int:
        """Return the first bits of the address."""
        return int(self.address) >> (self.address.max_prefixlen - bits)

    def contains(self, other: CidrValue) -> bool:
        """Return whether all addresses of another network are in this one."""
        return (
            self.address.version == other.address.version and self.bits <= other.bits and self.prefix(self.bits) == other.prefix(self.bits)
        )


def _parse(text: str) -> CidrValue:
    try:
        if not _FORM.fullmatch(text):
            raise ValueError(f"{quote(text)} is no address with the length of a prefix")
        found = ip_interface(text)
    except ValueError as error:
        # as in the reference, the text begins twice
        raise CelError(f"{_FAULT}: {_FAULT}: {prefix_fault(text) or error}") from None
    if is_mapped(found.ip):
        raise CelError(f"{_FAULT}: IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return CidrValue(found.ip, found.network.prefixlen)


def _is_cidr(text: str) -> bool:
    try:
        _parse(text)
    except CelError:
        return False
    return True


def _contains_ip(cidr: CidrValue, ip: IpValue) -> bool:
    return cidr.contains(CidrValue(ip.address, ip.address.max_prefixlen))


def _contains_ip_text(cidr: CidrValue, text: str) -> bool:
    try:
        ip = parse_ip(text)
    except CelError:
        # The reference takes the error for an argument of a wrong type.
        raise CelError(NO_SUCH_OVERLOAD) from None
    return _contains_ip(cidr, ip)


def _masked(cidr: CidrValue) -> CidrValue:
    free = cidr.address.max_prefixlen - cidr.bits
    return CidrValue(type(cidr.address)(cidr.prefix(cidr.bits) << free), cidr.bits)


def _contains_ip_cost(arguments: Sequence[object], _result: object) -> int:
    return string_cost(2 * actual_size(arguments[0]))


def _contains_cidr_cost(arguments: Sequence[object], _result: object) -> int:
    return _contains_ip_cost(arguments, None) + string_cost(actual_size(arguments[0])) + 1


def _contains_ip_text_cost(arguments: Sequence[object], _result: object) -> int:
    return _contains_ip_cost(arguments, None) + string_cost(actual_size(arguments[1]))


def _contains_cidr_text_cost(arguments: Sequence[object], _result: object) -> int:
    return _contains_cidr_cost(arguments, None) + string_cost(actual_size(arguments[1]))


_UNDETERMINED: Final[dict[Cost | None, Cost]] = {
    _contains_ip_text_cost: _contains_ip_cost,
    _contains_cidr_text_cost: _contains_cidr_cost,
}
"""Costs of calls that may or may not have to parse their argument."""


def _member(
    overload: str, parameters: tuple[CelType, ...], result: CelType, implementation: Implementation, cost: Cost | None = None
) -> Overload:
    return Overload(
        id=overload,
        parameters=parameters,
        result=result,
        implementation=implementation,
        member=True,
        cost=cost,
        undetermined_cost=_UNDETERMINED.get(cost, cost),
    )


_IP: Final = IpValue.cel_type

CIDR: Final = Library(
    name="kubernetes.net.cidr",
    functions={
        "cidr": (Overload(id="string_to_cidr", parameters=(STRING,), result=_CIDR, implementation=_parse, cost=read_once),),
        "isCIDR": (Overload(id="is_cidr", parameters=(STRING,), result=BOOL, implementation=_is_cidr, cost=read_once),),
        "containsIP": (
            _member(
                "cidr_contains_ip_string",
                (_CIDR, STRING),
                BOOL,
                _contains_ip_text,
                _contains_ip_text_cost,
            ),
            _member("cidr_contains_ip_ip", (_CIDR, _IP), BOOL, _contains_ip, _contains_ip_cost),
        ),
        "containsCIDR": (
            _member(
                "cidr_contains_cidr_string",
                (_CIDR, STRING),
                BOOL,
                lambda cidr, text: cidr.contains(_parse(text)),
                _contains_cidr_text_cost,
            ),
            _member("cidr_contains_cidr", (_CIDR, _CIDR), BOOL, CidrValue.contains, _contains_cidr_cost),
        ),
        "ip": (_member("cidr_ip", (_CIDR,), _IP, lambda cidr: IpValue(cidr.address)),),
        "prefixLength": (_member("cidr_prefix_length", (_CIDR,), INT, lambda cidr: cidr.bits),),
        "masked": (_member("cidr_masked", (_CIDR,), _CIDR, _masked),),
        "string": (Overload(id="cidr_to_string", parameters=(_CIDR,), result=STRING, implementation=str),),
    },
    types=(_CIDR,),
)
