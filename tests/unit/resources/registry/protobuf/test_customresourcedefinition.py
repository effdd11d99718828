"""CustomResourceDefinitions in protobuf, from client-go's typed clients."""

import base64
import json
from typing import Any

import pytest

from apiext.base.meta.limits import MAX_DEPTH
from apiext.resources.definitions.codec import CRDCodec
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.customresourcedefinition import DEFINITION_WIRE, SCHEMA_WIRE

# What client-go 0.37.1 sends for the definition below, which has every field that a definition can have.
SENT = base64.b64decode(
    "azhzAAozChdhcGlleHRlbnNpb25zLms4cy5pby92MRIYQ3VzdG9tUmVzb3VyY2VEZWZpbml0aW9uEr0MCkEKE3dpZGdldHMuZXhhbXBsZS5jb20SABoAIgAqADIAOA"
    "BCAFoGCgFhEgFiYgUKAWMSAHINZXhhbXBsZS5jb20veBKxCwoLZXhhbXBsZS5jb20aLQoHd2lkZ2V0cxIGd2lkZ2V0GgF3IgZXaWRnZXQqCldpZGdldExpc3QyA2Fs"
    "bCIKTmFtZXNwYWNlZDq+CgoCdjEQARgBIrIJCq8JCgASACIIYSB3aWRnZXQqBm9iamVjdDIAOgBQAGAAegCQAQC6AQRzcGVj6gHdCAoEc3BlYxLUCAoAEgAiACoGb2"
    "JqZWN0MgA6AEIYChZ7InNpemUiOjEsIm5vdGUiOm51bGx9UABgAHoAkAEAqAEJsAEA6gFYCgVjb2xvchJPCgASACIAKgZzdHJpbmcyADoBdEIHCgUicmVkIlAAYABo"
    "CHABegheW2Etel0rJJABAKIBBwoFInJlZCKiAQgKBiJibHVlIqgCALgCAMACAOoBLwoEZnJlZRInCgASACIAKgZvYmplY3QyADoAUABgAHoAkAEAqAIAsAIBuAIBwA"
    "IA6gHtAgoDbWFwEuUCCgASACIAKgZvYmplY3QyADoAUABgAHoAkAEAygFDCgASACIAKgAyADoAUABgAHoAkAEA4gEiCgASACIAKgAyADoAUABgAHoAkAEAugEBeqgC"
    "ALgCAMACAKgCALgCAMACANIBHgoAEgAiACoAMgA6AFAAYAB6AJABAKgCALgCAMACANoBIQoAEgAiACoAMgA6AFAAYAB6AJABALABAagCALgCAMACAPIBKAgBEiQKAB"
    "IAIgAqBm51bWJlcjIAOgBQAGAAegCQAQCoAgC4AgDAAgD6ASQKAl54Eh4KABIAIgAqADIAOgBQAGAAegCQAQCoAgC4AgDAAgCCAggKAWESAxIBYoICKwoBYxImCiQK"
    "ABIAIgAqBm9iamVjdDIAOgBQAGAAegCQAQCoAgC4AgDAAgCSAigKAWQSIwoAEgAaAyMveCIAKgAyADoAUABgAHoAkAEAqAIAuAIAwAIAqAIAuAIAwAIA6gGcAQoFcG"
    "9ydHMSkgEKABIAIgAqBWFycmF5MgA6AFAAYAB6AJABAMIBXwpdCgASACIAKgZvYmplY3QyADoAUABgAHoAkAEAugEEcG9ydOoBJgoEcG9ydBIeCgASACIAKgAyADoA"
    "UABgAHoAkAEAqAIAuAIAwAIBqAIAuAIAwAIA2gIGYXRvbWljqAIAuAIAwAIAygIEcG9ydNICA21hcOoBVAoEc2l6ZRJMCgASACIAKgdpbnRlZ2VyMgVpbnQ2NDoASQ"
    "AAAAAAAEBDUAFZAAAAAAAA+L9gAXoAkAEAmQEAAAAAAADgP6ICAwoBN6gCAbgCAMACAOoBYAoEdGFncxJYCgASACIAKgVhcnJheTIAOgBQAGAAegCAAQOIAQGQAQDC"
    "ASYKJAoAEgAiACoGc3RyaW5nMgA6AFAAYAB6AJABAKgCALgCAMACAKgCALgCAMACANICA3NldOoBegoFdHVwbGUScQoAEgAiACoFYXJyYXkyADoAUABgAHoAkAEAwg"
    "FGEiQKABIAIgAqBnN0cmluZzIAOgBQAGAAegCQAQCoAgC4AgDAAgASHgoAEgAiACoAMgA6AFAAYAB6AJABAKgCALgCAMACAIoCAggBqAIAuAIAwAIA8gECCACoAgC4"
    "AgDAAgDiAjMKDXNlbGYuc2l6ZSA+IDASAW0aAydlJyIRRmllbGRWYWx1ZUludmFsaWQqBS5zaXplMACaAhgKAWQSE2h0dHBzOi8vZXhhbXBsZS5jb22oAgC4AgDAAg"
    "AqOAoAEjQKDi5zcGVjLnJlcGxpY2FzEhAuc3RhdHVzLnJlcGxpY2FzGhAuc3RhdHVzLnNlbGVjdG9yMi8KBFNpemUSB2ludGVnZXIaBWludDMyIglob3cgbGFyZ2Uo"
    "ATIKLnNwZWMuc2l6ZTgBQgNvbGRKDQoLLnNwZWMuY29sb3JKJAoHV2ViaG9vaxIZEhMKDQoBbhIBcxoCL3Ag+0ESAkNBGgJ2MVAAGkQKJQoLRXN0YWJsaXNoZWQSBF"
    "RydWUaCAjUtoXYBhAAIgFyKgFtMAISFQoHd2lkZ2V0cxIAIgZXaWRnZXQqABoCdjEgAhoAIgA="
)
DEFINITION = json.loads(r"""
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com",
"labels":{"a":"b"},"annotations":{"c":""},"finalizers":["example.com/x"]},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget",
"listKind":"WidgetList","shortNames":["w"],"categories":["all"]},
"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"service":{"namespace":"n","name":"s","path":"/p","port":8443},
"caBundle":"Q0E="},"conversionReviewVersions":["v1"]}},
"versions":[{"name":"v1","served":true,"storage":true,"deprecated":true,"deprecationWarning":"old",
"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas",
"labelSelectorPath":".status.selector"}},
"additionalPrinterColumns":[{"name":"Size","type":"integer","format":"int32","description":"how large","priority":1,
"jsonPath":".spec.size"}],"selectableFields":[{"jsonPath":".spec.color"}],
"schema":{"openAPIV3Schema":{"type":"object","description":"a widget","externalDocs":{"description":"d",
"url":"https://example.com"},"required":["spec"],
"properties":{"spec":{"type":"object","additionalProperties":false,"default":{"size":1,"note":null},"maxProperties":9,
"minProperties":0,"x-kubernetes-validations":[{"rule":"self.size > 0","message":"m","messageExpression":"'e'",
"reason":"FieldValueInvalid","fieldPath":".size","optionalOldSelf":false}],
"properties":{"size":{"type":"integer","format":"int64","maximum":9007199254740992,"minimum":-1.5,"exclusiveMinimum":true,
"exclusiveMaximum":true,"multipleOf":0.5,"nullable":true,"example":7},
"color":{"type":"string","pattern":"^[a-z]+$","enum":["red","blue"],"maxLength":8,"minLength":1,"title":"t","default":"red"},
"tags":{"type":"array","items":{"type":"string"},"maxItems":3,"minItems":1,"uniqueItems":false,
"x-kubernetes-list-type":"set"},
"ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port"],"items":{"type":"object",
"x-kubernetes-map-type":"atomic","required":["port"],"properties":{"port":{"x-kubernetes-int-or-string":true}}}},
"tuple":{"type":"array","items":[{"type":"string"},{}],"additionalItems":true},
"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-embedded-resource":true},
"map":{"type":"object","additionalProperties":{"type":"number"},"patternProperties":{"^x":{}},"dependencies":{"a":["b"],
"c":{"type":"object"}},"definitions":{"d":{"$ref":"#/x"}},"allOf":[{"not":{"required":["z"]}}],"anyOf":[{"minProperties":1}],
"oneOf":[{}]}}}}}}}]},
"status":{"conditions":[{"type":"Established","status":"True","lastTransitionTime":"2026-11-21T08:50:28Z","reason":"r",
"message":"m","observedGeneration":2}],"acceptedNames":{"plural":"widgets","kind":"Widget"},"storedVersions":["v1"],
"observedGeneration":2}}
""")


def test_decodes_every_field() -> None:
    """Decode every field to the definition's JSON."""
    sent = kinds.read(SENT, DEFINITION_WIRE)

    assert CRDCodec().decode_body(sent, report=True) == []
    expected = json.loads(json.dumps(DEFINITION))
    CRDCodec().decode_body(expected, report=True)
    assert sent == expected


def test_encodes_every_field() -> None:
    """Encode JSON to client-go's bytes, except for the order of members in defaults."""
    definition = json.loads(json.dumps(DEFINITION))
    CRDCodec().decode_body(definition, report=True)

    assert kinds.dumps(definition["apiVersion"], definition["kind"], DEFINITION_WIRE.write(definition)) == SENT.replace(
        b'{"size":1,"note":null}', b'{"note":null,"size":1}'
    )


def test_deep_schemas() -> None:
    """Write a schema of MAX_DEPTH levels within Python's default recursion limit."""
    schema: dict[str, Any] = {"description": "bottom"}
    for _ in range(MAX_DEPTH):
        schema = {"items": schema}

    assert b"bottom" in SCHEMA_WIRE.write(schema)


def test_encodes_whole_numbers() -> None:
    """Encode a bound that is a whole number as one."""
    sent = kinds.read(SENT, DEFINITION_WIRE)

    spec = sent["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["properties"]["size"]["minimum"] == -1.5
    assert repr(kinds.Message({1: ("n", kinds.Scalar.FLOAT)}).read(b"\x09\0\0\0\0\0\0\x24\x40")["n"]) == "10"


@pytest.mark.parametrize("size", [5, 20, 200, 1000])
def test_rejects_truncated_data(size: int) -> None:
    """Reject truncated data with the reference's message."""
    with pytest.raises(ValueError, match=r"^unexpected EOF$"):
        kinds.read(SENT[:size], DEFINITION_WIRE)
