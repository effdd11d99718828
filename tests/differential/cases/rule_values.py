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
PROTOBUF: Final = tuple(
    rule.replace("@", "google.protobuf.")
    for rule in (
        "@Struct{} == {} && size(@Struct{fields: {'a': 1}}) == 1",
        "@Struct{fields: {'a': 1}} == {'a': 1.0} && type(@Struct{fields: {'a': 1}}.a) == double",
        "@Struct{fields: {'a': 1}}.b == 1",
        "@Struct{fields: self.m} == self.m",
        "@Struct{?fields: optional.none()} == {}",
        "@Struct{fields: {'a': 9007199254740991}}.a == 9007199254740991",
        "@Struct{fields: {'a': 9007199254740992}}.a == '9007199254740992'",
        "@Struct{fields: {'a': [b'ab'], 'b': [b'']}} == {'a': ['YWI='], 'b': ['']}",
        "@Struct{fields: {'a': timestamp('2020-01-01T00:00:00.5Z')}}.a == '2020-01-01T00:00:00.5Z'",
        "@Struct{fields: {'a': duration('90m')}}.a == '5400s'",
        "@Struct{fields: {'a': {'b': [1u, 2u]}}} == {'a': {'b': [1, 2]}}",
        "@Struct{fields: {'a': optional.of(1)}} == {'a': 1}",
        *(
            f"@Struct{{fields: {fields}}} == {{}}"
            for fields in (
                "dyn(1)",
                "dyn([])",
                "dyn(null)",
                "{'a': optional.none()}",
            )
        ),
        "@Value{} == null && @Value{null_value: 0} == null && @Value{null_value: @NullValue.NULL_VALUE} == null",
        "@Value{number_value: 1.0} == 1 && type(@Value{number_value: 1.0}) == double",
        "@Value{string_value: 'a'} == 'a' && dyn(@Value{bool_value: true})",
        "@Value{struct_value: {'a': 1}} == {'a': 1} && @Value{list_value: [1, 2]} == [1, 2]",
        "@Value{struct_value: @Struct{}} == {}",
        "@Value{null_value: 5000000000} == null",
        "@ListValue{} == [] && @ListValue{values: [1, 2]} == [1, 2]",
        "@ListValue{values: self.l} == self.l",
        "type(@ListValue{values: [1]}[0]) == double",
        *(f"@ListValue{{values: {values}}} == []" for values in ("dyn(1)", "dyn({})", "dyn(null)")),
        "@NullValue.NULL_VALUE == 0",
    )
)
EMPTY: Final = tuple(
    rule.replace("@", "google.protobuf.")
    for rule in (
        "type(@Empty{}) == @Empty && @Empty{} != null && optional.of(@Empty{}).hasValue()",
        *(f"dyn(@Empty{{}}) == {other}" for other in ("1", "{}", "null", "optional.of(1)", "dyn(self)", "dyn(self.l)")),
        *(f"{other} == dyn(@Empty{{}})" for other in ("1", "{}", "null", "dyn(self)", "dyn(self.l)")),
        "dyn(@Empty{}) in [@Empty{}] && {'a': @Empty{}} == {'a': @Empty{}} && [@Empty{}] != [dyn(1)]",
        "dyn(@Empty{}) in self.l",
        "{dyn(@Empty{}): 1} == {}",
        *(f"dyn(@Empty{{}}){chain} == 1" for chain in (".a", "['a']", "[0]", "[dyn(1)]", "[true]", ".a.b")),
        "has(dyn(@Empty{}).a)",
        "dyn(@Empty{}).?a.hasValue()",
        "dyn(@Empty{})[?'a'].hasValue()",
        *(f"dyn(@Empty{{}}) {operation}" for operation in ("+ 1 == 2", "- 1 == 2", "* 1 == 2", "/ 1 == 2", "% 1 == 2", "> 1", "&& true")),
        *(f"{operation}dyn(@Empty{{}})" for operation in ("!", "1 == -", "1 > ", "2 == 1 + ")),
        "size(dyn(@Empty{})) == 1",
        "int(dyn(@Empty{})) == 1",
        "dyn(@Empty{}).startsWith('a')",
        "optional.ofNonZeroValue(@Empty{}).hasValue()",
        "optional.of(dyn(@Empty{})).?a.hasValue()",
        "'%s'.format([dyn(@Empty{})]) == 'a'",
        "'%s'.format([type(@Empty{})]) == 'a'",
        "[@Empty{}, @Empty{}].distinct().size() == 1",
        "@Struct{fields: {'a': @Empty{}}} == {'a': {}} && @ListValue{values: [@Empty{}]} == [{}]",
        "@Struct{fields: dyn(@Empty{})} == {}",
        "@ListValue{values: dyn(@Empty{})} == []",
    )
)
ANY: Final = tuple(
    rule.replace("@", "google.protobuf.")
    for rule in (
        "@Any{} == null",
        "type(@Any{}) == null_type",
        "true || @Any{} == null",
        "(true ? 1 : @Any{}) == 1",
        "@Any{}.a == 1",
        "has(@Any{}.a)",
        "@Any{} + 1 == 2",
        "@Any{} && true",
        "[@Any{}] == []",
        "@Any{?type_url: optional.none()} == 1",
        *(f"@Any{{type_url: '{url}'}} == null" for url in ("x", "type.googleapis.com/no.Such", '\\u00e9\\t"')),
        "@Any{value: b'zz'} == null",
    )
)
JSON: Final = tuple(
    rule.replace("@", "google.protobuf.")
    for rule in (
        "@Struct{fields: dyn(self.o)} == {'a': 'a'} && @Struct{fields: dyn(self.m)} == self.m",
        *(f"@Value{{list_value: {value}}} == ['a', 'a']" for value in ("self.l + self.l", "self.l + ['a']", "['a'] + self.l")),
        *(f"@Value{{list_value: self.l.{method}}} == ['a']" for method in ("map(x, x)", "filter(x, true)", "slice(0, 1)", "sort()")),
        "@Value{list_value: @ListValue{values: self.l}} == ['a']",
    )
)
