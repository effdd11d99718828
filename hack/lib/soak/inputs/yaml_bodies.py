"""YAML bodies that are small but expand to much, or are slow to parse."""

from typing import Final

from hack.lib.soak.attack import YAML, Attack
from hack.lib.soak.collection import API_VERSION, ATTACKED

_LIMIT: Final = 2_900_000
"""Bytes: a little less than the largest body that the reference reads."""
_HEAD: Final = f"apiVersion: {API_VERSION}\nkind: Widget\nmetadata: {{generateName: hostile-}}\n"


def _post(attack: Attack, text: str, *, query: str = "") -> int:
    return attack.ask("POST", f"{ATTACKED}{query}", (_HEAD + text).encode(), YAML)


def aliases_of_a_long_text(attack: Attack) -> None:
    """Refer many times to one long text: up to 54 KB that stand for 240 MB."""
    for count in (100, 1_000, attack.size(6_000, 2_000)):
        text = f"spec:\n  payload: &a {'x' * 40_000}\n  any: {{list: [{','.join(['*a'] * count)}]}}\n"
        for query in ("", "?fieldValidation=Strict", "?dryRun=All"):
            _post(attack, text, query=query)


def aliases_of_aliases(attack: Attack) -> None:
    """Refer to lists that refer to lists: 9 levels of 9."""
    levels = ["  l0: &l0 [x,x,x,x,x,x,x,x,x]"]
    levels += [f"  l{level}: &l{level} [{','.join([f'*l{level - 1}'] * 9)}]" for level in range(1, attack.size(9, 7))]
    _post(attack, "spec: {any: {}}\nmore:\n" + "\n".join(levels) + "\n")
    _post(attack, "spec:\n any:\n" + "\n".join(levels) + "\n")
    _post(attack, "a: &a [*a]\nspec: &b {any: *b}\n")


def open_anchors(attack: Attack) -> None:
    """Nest anchors, so that many are open at once: 309 KB."""
    depth = attack.size(30_000, 3_000)
    _post(attack, "spec: {any: " + "".join(f"&a{number} [" for number in range(depth)) + "]" * depth + "}\n")
    _post(attack, "".join(f"&k{number} key{number}: &v{number} value\n" for number in range(attack.size(10_000, 2_000))))
    _post(attack, "spec:\n  any:\n" + "".join(f"    k{number}: &a {number}\n" for number in range(attack.size(20_000, 2_000))))


def merge_keys(attack: Attack) -> None:
    """Merge mappings into mappings, each of which merges others."""
    levels = [f"l0: &l0 {{{', '.join(f'k{number}: 1' for number in range(200))}}}"]
    levels += [f"l{level}: &l{level} {{<<: [{','.join([f'*l{level - 1}'] * 9)}]}}" for level in range(1, attack.size(9, 6))]
    _post(attack, "\n".join(levels) + "\n")
    many = attack.size(20_000, 2_000)
    _post(attack, f"b: &b {{x: 1}}\nspec:\n  any: {{{', '.join(['<<: *b'] * many)}}}\n")
    _post(attack, f"b: &b {{x: 1}}\nspec:\n  any: {{<<: [{', '.join(['*b'] * many)}]}}\n")


def yaml_nesting(attack: Attack) -> None:
    """Nest flow collections, block collections and complex keys."""
    length = attack.size(_LIMIT, 100_000)
    for text in ("[" * length, "{" * length, "{a: " * (length // 4), "[" * (length // 2) + "]" * (length // 2), "- " * (length // 2)):
        _post(attack, f"spec: {{any: {text}")
        _post(attack, f"spec:\n  any:\n    {text}")
    _post(attack, "? " * (length // 2))
    depth = attack.size(2_000, 300)
    _post(attack, "spec:\n" + "".join(f"{' ' * level}a:\n" for level in range(1, depth)))


def yaml_scalars(attack: Attack) -> None:
    """Send long plain, quoted, folded and literal scalars, numbers, times and tags."""
    length = attack.size(_LIMIT, 200_000)
    digits = attack.size(1_000_000, 50_000)
    texts = [
        "x " * (length // 2),
        "'" + "''" * (length // 2) + "'",
        '"' + "\\x41" * (length // 4) + '"',
        '"' + "\\\n " * (length // 3) + '"',
    ]
    texts += ["1" * digits, "0x" + "f" * digits, "0b" + "1" * digits, "1." + "0" * digits, "1:" * digits + "1", "1e" + "9" * digits]
    texts += ["2001-01-01 " + "0" * digits, "!!binary " + "A" * length, "!!python/name:os.system " + "x", f"!<{'x' * length}> a"]
    texts += [">\n" + "    x\n\n" * (length // 7), "|\n" + "    x\n" * (length // 6), "x" + " #" * (length // 2), "'" + "x" * length]
    for text in attack.some(texts):
        _post(attack, f"spec:\n  payload: {text}\n")


def yaml_shapes(attack: Attack) -> None:
    """Send many short items, keys, comments, documents, duplicates, directives and blank lines."""
    count = attack.size(600_000, 30_000)
    for text in ("1," * count, "a: 1," * (count // 4), "*a," * count, "? a," * (count // 2), "[]," * count, "'',"):
        _post(attack, f"spec: {{any: {{list: [{text}]}}}}\n")
    for line in attack.some(("#\n", "---\n", "--- a\n", "\n", " \n", "- 1\n", "a: 1\n", "%YAML 1.1\n", "...\n", "\t\n", "\u2028")):
        _post(attack, line * (count // 2))
    _post(attack, "".join(f"k{number}: 1\n" for number in range(count // 4)), query="?fieldValidation=Strict")
    _post(attack, "".join(f"k{number}: 1\n" for number in range(count // 4)), query="?fieldValidation=Warn")


def several_large_yaml_bodies(attack: Attack) -> None:
    """Send large YAML bodies from several clients at once, some of which disconnect."""
    text = "spec: {any: {list: [" + "1," * attack.size(1_000_000, 50_000) + "]}}\n"
    attack.together([lambda: _post(attack, text, query="?dryRun=All")] * attack.size(8, 3))
    body = (_HEAD + text).encode()
    head = f"POST {ATTACKED} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/yaml\r\nContent-Length: {len(body)}\r\n\r\n"
    for _ in range(attack.size(8, 2)):
        with attack.connect(attack.front) as connection:
            connection.sendall(head.encode() + body)


INPUTS: Final = (
    aliases_of_a_long_text,
    aliases_of_aliases,
    open_anchors,
    merge_keys,
    yaml_nesting,
    yaml_scalars,
    yaml_shapes,
    several_large_yaml_bodies,
)
