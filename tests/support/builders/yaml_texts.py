"""Strings that a YAML writer must quote."""

from hypothesis import strategies as st

TYPED = (
    *("1e3", "12e03", "0o17", "017", "08", "0x1F", "-0b11", "1_000", "+1", "-1", ".5", "1.", "1e", "0x", "_1", "1__0", "-.5e-3", "1E+2"),
    *("y", "Y", "n", "yes", "No", "on", "OFF", "true", "False", "~", "null", "Null", "", "<<", "=", ".nan", ".inf", "-.INF", "+.inf"),
    *("2020-01-01", "2020-1-1", "2020-01-01T00:00:00Z", "2001-12-14 21:59:43.10 -5", "1:30", "190:20:30", "-1:20.5"),
    *("12345678901234567890",),
    *("- a", "? a", ": a", "a: b", "a #b", "# a", "[a", "{a", "&a", "*a", "!a", "!!str a", "|", ">", "'", '"', "%a", "@a", "`a", "---"),
    *("...",),
    *(" a", "a ", "\ta", "a\n", "\na", "a\n\n", " a\nb", "a \nb", "a\rb", "a\tb", "\x7f", "\x85", "\u2028", "\ufeff", "\x00", "\U0001f600"),
)
"""Strings that YAML reads as another type without quotes, or that some styles cannot express."""

texts = (
    st.sampled_from(TYPED)
    | st.text("0123456789+-._eExXoObBaAfF:", max_size=12)
    | st.text("yYnNoOeEsStTrRuUfFaAlL~<=", max_size=5)
    | st.text("ab \n\t:#-'\"", max_size=8)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
)
"""Any string, often one that needs quotes."""
