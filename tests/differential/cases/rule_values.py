"""Rules about values whose types the schema does not tell, or whose types differ from it."""

from typing import Final

from tests.differential.cases.rule_definitions import INTEGER, KEYED, STRING, mapping, several, struct

TYPED: Final = struct(
    a=INTEGER,
    n={"type": "number"},
    l=several(INTEGER, maxItems=5),
    s=several(INTEGER, maxItems=5) | {"x-kubernetes-list-type": "set"},
    k=several(struct(name=STRING, count=INTEGER) | {"required": ["name"]}, maxItems=5, **KEYED),
    m=mapping(INTEGER, maxProperties=5),
    o=struct(a=INTEGER, b=INTEGER),
    e={"x-kubernetes-int-or-string": True},
)
TYPED_RULES: Final = (
    "!has(self.a) || self.a > 7",
    "!has(self.a)",
    "!self.?a.hasValue()",
    "!has(self.l) || self.l[?0].hasValue()",
    "!has(self.m) || self.m[?'x'].hasValue()",
    "!has(self.m) || has(self.m.x)",
    "!has(self.o) || !has(self.o.a)",
    "!has(self.a) || dyn(self.a) == 5",
    "!has(self.a) || self.a == self.a",
    "!has(self.a) || self.?a.orValue(1) == 5",
    "!has(self.n) || self.n == 5.0",
    "!has(self.l) || self.l.size() > 1",
    "!has(self.l) || self.l[0] == 5",
    "!has(self.l) || self.l.all(x, x > 0)",
    "!has(self.l) || self.l.exists(x, x == 6)",
    "!has(self.l) || self.l.map(x, x + 1) == [6]",
    "!has(self.l) || self.l == [5]",
    "!has(self.l) || [5] == self.l",
    "!has(self.l) || self.l == self.l",
    "!has(self.l) || 6 in self.l",
    "!has(self.l) || (self.l + [1])[1] == 1",
    "!has(self.s) || self.s == [5]",
    "!has(self.k) || self.k[0].name == 'a'",
    "!has(self.k) || self.k == self.k",
    "!has(self.m) || self.m['x'] == 5",
    "!has(self.m) || self.m == {'x': 5}",
    "!has(self.m) || 'x' in self.m",
    "!has(self.o) || self.o == self.o",
    "!has(self.o) || self.o.?a == optional.of(5)",
    "!has(self.e) || type(self.e) == int",
    "!has(self.e) || self.e == 5",
)
_OPAQUE: Final = (
    "quantity('1')",
    "ip('1.2.3.4')",
    "cidr('1.2.3.0/24')",
    "semver('1.2.3')",
    "url('http://a')",
)
MIXED: Final = tuple(
    template.format(value)
    for value in _OPAQUE
    for template in (
        "dyn({0}) == 1",
        "1 == dyn({0})",
        "dyn({0}) != 1",
        "dyn({0}) == null",
        "dyn({0}) in [dyn(1), dyn({0})]",
    )
)
KEYS: Final = (
    "dyn(self.m)[1] == 'a'",
    "dyn(self.m)[true] == 'a'",
    "dyn(self.m)[1.5] == 'a'",
    "dyn(self.o)[1] == 'a'",
    "dyn(self.m)['x'] == 'a'",
    "dyn(self.l)['x'] == 'a'",
    "dyn(true) in {dyn(1): 1}",
)
