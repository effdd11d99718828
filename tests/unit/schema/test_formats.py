"""String formats as the reference accepts them, also where the standard differs."""

import pytest

from apiext.schema.strfmt.registry import format_checker, is_known_format

VALID = {
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "uri": ["http://foo.bar/#com", "/abs/test/dir", "mailto:someone@example.com", "http://[fe80::1%25en0]/", "pg://a:1,b:2/x"],
    "email": ["a@b", "A <a@b>", '"q q"@b', "a@[1.2.3.4]", " a@ b", "=?utf-8?q?x?= <a@b>"],
    "hostname": ["a", "1.2.3.com", "\u00e9.com", "\U0001f600.com", "x" * 63],
    "ipv4": ["1.2.3.4", "01.02.03.04", "::ffff:1.2.3.4"],
    "ipv6": ["::1", "1:2:3:4:5:6:7::", "::ffff:1.2.3.4"],
    "cidr": ["10.0.0.0/8", "::1/128", "01.2.3.4/08", "1.2.3.4/008"],
    "mac": ["01:23:45:67:89:ab", "0123.4567.89ab", "01-23-45-67-89-ab-cd-ef", "0123456789ab"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
    "uuid3": ["123e4567-e89b-32d3-1456-426614174000"],
    "uuid4": ["123e4567-e89b-42d3-a456-426614174000"],
    "uuid5": ["123e4567-e89b-52d3-B456-426614174000"],
    "isbn": ["3836221195", "978 3401013190"],
    "isbn10": ["1-61729-085-8", "3 401 01319 X"],
    "isbn13": ["978-4-87311-368-5"],
    "creditcard": ["4220-8554-2622-2389", "374953669708156"],
    "ssn": ["191-60-2869", "191 60 2869"],
    "hexcolor": ["#fff", "CCccCC"],
    "rgbcolor": ["rgb(0,31,255)", "rgb(0,  31, 255)"],
    "byte": ["YWJj", "YWI=", "YQ=="],
    "password": ["", "anything"],
    "date": ["2024-02-29"],
    "duration": ["1h30m", "-1.5h", "0", "22 ns", "2 weeks", "3 foo 1 day", "1\u00b5s"],
    "date-time": ["2024-02-29T12:30:00Z", "2024-02-29t12:30:00.5+01:00", "2024-02-29T00:00:00Z"],
    "k8s-short-name": ["a", "a-b", "x" * 63],
    "k8s-long-name": ["a.b", "x" * 64 + ".y"],
}
INVALID = {
    "bsonobjectid": ["507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g"],
    "uri": ["", "foobar.com", "./rel", "http://%zz", "http://a:b:c/", "http://[1.2.3.4]/", "http://a b/", ":x", "http://x\x7f"],
    "email": ["", "a", "a@", ".a@b", "a@b.", "a b <c@d>x", "g: a@b, c@d;", '""@b', "a@b, c@d"],
    "hostname": ["", "-a", "a..b", "a_b", "1.2.3.4", "x" * 64, "a."],
    "ipv4": ["1.2.3", "256.1.1.1", "1.2.3.4 ", "::1", "1.2.3.\u0663"],
    "ipv6": ["1.2.3.4", "::1%eth0", "12345::", "1:2:3:4::5:6:7:8"],
    "cidr": ["10.0.0.0", "10.0.0.0/33", "::1/129", "1.2.3.4/", "1.2.3.4/" + "9" * 5000],
    "mac": ["01:23:45:67:89", "01:23:45:67:89-ab", "01:23:45:67:89:ag"],
    "uuid": ["123e4567-e89b-12d3-a456-42661417400"],
    "uuid4": ["123e4567-e89b-42d3-1456-426614174000"],
    "isbn10": ["3423214121"],
    "isbn13": ["978 3 8362 2119 0"],
    "creditcard": ["", "4220855426213389", "30190239451016"],
    "ssn": ["191602869", "00-90-8787"],
    "hexcolor": ["#ff", "#ff12FG"],
    "rgbcolor": ["rgb(01,31,255)", "rgb(1,349,275)", "rgba(0,31,255)"],
    "byte": ["", "12345", "YWJj\n"],
    "date": ["2023-02-29", "2024-13-01", "2024-1-01", "2024-01-01x", "1900-02-29"],
    "duration": ["", "soon", "1", ".s", "9223372036854775808ns", "9" * 5000 + " days"],
    "date-time": ["2024-02-29", "2024-02-29 12:30:00Z", "2024-02-29T24:00:00Z", "2024-02-29T12:30:60Z", "2024-02-30T12:30:00Z"],
    "k8s-short-name": ["", "A", "-a", "a.b", "x" * 64, "a\n"],
    "k8s-long-name": ["a..b", "x" * 254, "a.-b"],
}


@pytest.mark.parametrize(
    "name, text, valid",
    [(name, text, found is VALID) for found in (VALID, INVALID) for name, texts in found.items() for text in texts],
)
def test_checks(name: str, text: str, *, valid: bool) -> None:
    """Accept a text of the format, and no other one."""
    check = format_checker(name)

    assert check is not None
    assert bool(check(text)) is valid


def test_ignores_dashes_in_names() -> None:
    """Take date-time and datetime for one format; return None for unknown ones."""
    assert format_checker("date-time") is format_checker("datetime")
    assert is_known_format("k8sshortname")
    assert not is_known_format("int32")
    assert format_checker("") is None
