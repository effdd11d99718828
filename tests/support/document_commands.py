"""Commands and their outputs in the documents."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CODE: Final = re.compile(r"\s+# exits with (\d)$")


@dataclass(frozen=True, slots=True)
class DocumentCommand:
    """A line of a shell block, as `command  # exits with N`."""

    text: str
    code: int
    """The exit code."""
    output: str
    """The text block after the shell block, if this is its last line; "" if there is none. A line of three dots stands for any lines."""

    @property
    def arguments(self) -> list[str]:
        """Return the words of the command."""
        return shlex.split(self.text, comments=True)

    def prints(self, output: str) -> bool:
        """Report whether the document shows an output. Numbers with decimals are times, and differ."""
        shown, found = (re.sub(r"\d+\.\d+", "0.0", text) for text in (self.output, output))
        return re.fullmatch(re.escape(shown).replace(re.escape("...\n"), "(?:.*\n)*"), found) is not None


def section(document: str, title: str) -> str:
    """Return a section of a document, without its title; it ends at a title of its level or above."""
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^#{{1,2}} |\Z)", (ROOT / document).read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None, title
    level = len(found[1])
    return re.split(rf"^#{{1,{level}}} ", found[2], maxsplit=1, flags=re.MULTILINE)[0]


def blocks(text: str, language: str) -> list[str]:
    """Return the code blocks of a language."""
    return [body for name, body in _BLOCK.findall(text) if name == language]


def commands(text: str) -> Iterator[DocumentCommand]:
    """Yield the lines of the shell blocks, each with the exit code and the output that the document names."""
    found = _BLOCK.findall(text)
    for place, (language, body) in enumerate(found):
        if language != "sh":
            continue
        lines = body.splitlines()
        follows = found[place + 1] if place + 1 < len(found) else ("", "")
        for number, line in enumerate(lines, 1):
            code = _CODE.search(line)
            is_last = number == len(lines) and follows[0] == "text"
            yield DocumentCommand(_CODE.sub("", line), int(code[1]) if code else 0, follows[1] if is_last else "")


def story(text: str) -> str:
    """Return the shell blocks of a section as one script, which fails where a command has another exit code than the document names."""
    lines = [line for body in blocks(text, "sh") for line in body.splitlines()]
    found = [(_CODE.sub("", line), _CODE.search(line)) for line in lines]
    return "\n".join(f"{line} && exit 1 || [ $? = {code[1]} ]" if code else line for line, code in found)
