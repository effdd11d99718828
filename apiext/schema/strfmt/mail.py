"""Mail addresses as Go's net/mail.ParseAddress takes them: `a@b`, `Name <a@b>`, comments, groups of one."""

from __future__ import annotations

import base64
import ipaddress
import re

_SPACE = " \t"
_BEYOND_ASCII = r"\x80-\U0010ffff"
_ATOM = re.compile(rf"[!#-'*+\-./0-9=?A-Z^-~{_BEYOND_ASCII}]++")
_QUOTED = re.compile(rf'"(?:[\t !#-\[\]-~{_BEYOND_ASCII}]|\\[\t -~{_BEYOND_ASCII}])*+"')
_DOMAIN_LITERAL = re.compile(rf"\[[!-Z^-~{_BEYOND_ASCII}]*+\]")
_ENCODED_WORD = re.compile(r"=\?([^?]+)\?([^?])\?([^?]*)\?=")
_CHARSETS = frozenset({"utf-8", "iso-8859-1", "us-ascii"})
_Q_TEXT = re.compile("(?:=[0-9a-fA-F]{2}|(?!=)[ -~\n\r\t])*")


class _MalformedError(Exception):
    """A text that is no address."""


def is_email(text: str) -> bool:
    """Return whether a text is one mail address, with or without a display name."""
    reader = _Reader(text)
    try:
        addresses = reader.address(group_allowed=True)
        reader.skip_comments()
    except _MalformedError:
        return False
    return addresses == 1 and reader.at_end


class _Reader:
    """Reads a text from left to right; methods raise _MalformedError where the text does not match."""

    __slots__ = ("_at", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @property
    def at_end(self) -> bool:
        """Return whether the whole text is read."""
        return self._at == len(self._text)

    def address(self, *, group_allowed: bool) -> int:
        """Read a mailbox or a group and return its number of addresses."""
        self._skip_space()
        if self.at_end:
            raise _MalformedError
        start = self._at
        try:
            self._plain_address()
        except _MalformedError:
            self._at = start
        else:
            self._skip_space()
            if self._peek("("):
                self._display_comment()
            return 1
        if not self._peek("<"):
            self._phrase()
        self._skip_space()
        if group_allowed and self._take(":"):
            return self._group()
        if not self._take("<"):
            raise _MalformedError
        self._plain_address()
        if not self._take(">"):
            raise _MalformedError
        return 1

    def _group(self) -> int:
        self._skip_space()
        count = 0
        while not (count == 0 and self._peek(";")):
            self._skip_space()
            count += self.address(group_allowed=False)
            self.skip_comments()
            if self._peek(";"):
                break
            if not self._take(","):
                raise _MalformedError
        self._take(";")
        self.skip_comments()
        return count

    def _plain_address(self) -> None:
        """Read a local part, an @ and a domain."""
        self._skip_space()
        if self._peek('"'):
            if self._match(_QUOTED) == '""':
                raise _MalformedError
        else:
            self._dot_atom()
        if not self._take("@"):
            raise _MalformedError
        self._skip_space()
        if self._peek("["):
            self._domain_literal()
        else:
            self._dot_atom()

    def _phrase(self) -> None:
        """Read the words of a display name, up to the first error; raise this error if no word precedes it."""
        words = encoded = 0
        while True:
            if words:
                self.skip_comments()
            self._skip_space()
            if self.at_end:
                return
            try:
                if self._peek('"'):
                    self._match(_QUOTED)
                    words += 1
                elif (text := _encoded_text(self._match(_ATOM))) is None:
                    words += 1
                else:
                    encoded += len(text)
            except _MalformedError:
                if words or encoded:
                    return
                raise

    def _dot_atom(self) -> None:
        atom = self._match(_ATOM)
        if atom.startswith(".") or atom.endswith(".") or ".." in atom:
            raise _MalformedError

    def _domain_literal(self) -> None:
        literal = self._match(_DOMAIN_LITERAL)[1:-1]
        try:
            ipaddress.ip_address(literal)
        except ValueError:
            raise _MalformedError from None
        if "%" in literal:
            raise _MalformedError

    def _display_comment(self) -> None:
        for word in re.split("[ \t]+", self._comment()):
            _encoded_text(word)

    def skip_comments(self) -> None:
        """Skip white space and comments."""
        self._skip_space()
        while self._peek("("):
            self._comment()
            self._skip_space()

    def _comment(self) -> str:
        """Read a comment, which may nest, and return its text without backslashes."""
        self._at += 1
        depth = 1
        text: list[str] = []
        while depth:
            if self.at_end:
                raise _MalformedError
            char = self._text[self._at]
            if char == "\\" and self._at + 1 < len(self._text):
                self._at += 1
                char = self._text[self._at]
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
            if depth:
                text.append(char)
            self._at += 1
        return "".join(text)

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise _MalformedError
        self._at = match.end()
        return match[0]

    def _skip_space(self) -> None:
        while not self.at_end and self._text[self._at] in _SPACE:
            self._at += 1

    def _peek(self, char: str) -> bool:
        return self._text.startswith(char, self._at)

    def _take(self, char: str) -> bool:
        taken = self._peek(char)
        self._at += taken
        return taken


def _encoded_text(word: str) -> str | None:
    """Return the text of a word encoded after RFC 2047, None if it is not encoded.

    Raises:
        _MalformedError: the character set is unknown to Go.
    """
    match = _ENCODED_WORD.fullmatch(word) if len(word) >= 8 else None
    if match is None or not _decodes(match[2], match[3]):
        return None
    if match[1].lower() not in _CHARSETS:
        raise _MalformedError
    return match[3]


def _decodes(encoding: str, text: str) -> bool:
    if encoding in "qQ":
        return _Q_TEXT.fullmatch(text) is not None
    if encoding in "bB":
        try:
            base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True)
        except ValueError:
            return False
        return True
    return False
