"""Parameters of a Content-Type as Go's mime package reads them."""

import pytest

from apiext.endpoints.serializers.negotiation import JSON, RESOURCE_OFFERS, input_type
from apiext.meta.errors import StatusError


@pytest.mark.parametrize("params", ["", ";", "; charset=utf-8", ';a="b;c"', ";a=b; a=b", ';a="\\"" ', ";a=b;", "; a=b ;c=d"])
def test_readable(params: str) -> None:
    """They change nothing."""
    assert input_type(JSON + params, RESOURCE_OFFERS) == JSON


@pytest.mark.parametrize("params", ["; a", ";a=b;a=c", "; a b=c", ";=b", ';a="b', ";a=b c"])
def test_unreadable(params: str) -> None:
    """With them it is no type at all."""
    with pytest.raises(StatusError) as refused:
        input_type(JSON + params, RESOURCE_OFFERS)

    assert refused.value.code == 415
