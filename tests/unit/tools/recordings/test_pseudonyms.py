"""Pseudonyms for names."""

from contextlib import closing

from apiext.base.meta.names import name_is_dns_label
from apiext.tools.recordings.pseudonyms import Pseudonyms


def test_names_get_labels() -> None:
    """Return the same DNS label for a name, others for other names and in other archives."""
    with closing(Pseudonyms(b"k" * 32)) as one, closing(Pseudonyms(b"k" * 32)) as same, closing(Pseudonyms()) as other:
        found = one.of("web")
        assert (len(found), name_is_dns_label(found, False), same.of("web")) == (12, [], found)
        assert len({found, one.of("web2"), other.of("web")}) == 3


def test_keeps_common_names() -> None:
    """Keep names that every cluster has, booleans and numbers."""
    with closing(Pseudonyms()) as pseudonyms:
        for name in ("default", "kube-system", "true", "", "42"):
            pseudonyms.add([name])
            assert (pseudonyms.of(name), pseudonyms.in_text(name)) == (name, name)


def test_replaces_names_in_texts() -> None:
    """Replace known names as a whole, between slashes and as words, and nothing else."""
    with closing(Pseudonyms()) as pseudonyms:
        pseudonyms.add(["web", "prod", "a.b", "ab", "default"])
        web, prod = pseudonyms.of("web"), pseudonyms.of("prod")

        assert pseudonyms.in_text("web") == web
        assert pseudonyms.in_text("prod/a.b") == f"{prod}/{pseudonyms.of('a.b')}"
        assert pseudonyms.in_text('http://web.prod.svc:80, "web"; webs web-1') == f'http://{web}.{prod}.svc:80, "{web}"; webs web-1'
        assert pseudonyms.in_text("ab") == pseudonyms.of("ab")
        assert pseudonyms.in_text("x ab x default") == "x ab x default"
