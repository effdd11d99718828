"""A kube-apiserver whose CRDs are converted by one `apiext convert serve`, with a certificate from files."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

import yaml

from hack.lib.manifests import MANIFESTS
from hack.lib.servers.certificates import Authority
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.convert_server import ConvertServer
from hack.lib.waiting import until

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONVERSIONS: Final = "/apis/conversions.apiext.dev/v1alpha1/conversions"


def conversion_definition() -> Any:
    """Return the CRD of Conversion objects, as the manifests have it."""
    return yaml.safe_load((MANIFESTS / "conversion" / "base" / "definition.yaml").read_text())


class ConvertedPlane:
    """The kube-apiserver (`plane`) and the webhook, which is called by its URL."""

    def __init__(self, folder: Path, *, extra_args: Sequence[str] = ()) -> None:
        self.plane = ControlPlane(folder / "plane", durable=False, extra_args=extra_args)
        authority = Authority(folder / "webhook", "webhook-ca")
        pair = authority.issue("webhook")
        files = [f"--tls-cert-file={pair.cert}", f"--tls-private-key-file={pair.key}", f"--ca-file={authority.cert}"]
        self.webhook = ConvertServer.of_command(folder / "webhook", [f"--kubeconfig={self.plane.kubeconfig}", "--no-leader-elect", *files])
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start both, with the CRD of Conversion objects."""
        with ExitStack() as stack:
            stack.enter_context(self.plane)
            self.plane.client.must("POST", CRDS, conversion_definition())
            until(lambda: self.plane.client.ask("GET", CONVERSIONS)[0] == 200)
            stack.enter_context(self.webhook)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def wait_until_converted(self, crd: str) -> None:
        """Wait until the objects of a CRD are converted by the webhook."""
        until(lambda: self._strategy(crd) == "Webhook", f"the webhook in {crd}")

    def _strategy(self, crd: str) -> Any:
        return self.plane.client.must("GET", f"{CRDS}/{crd}")["spec"]["conversion"]["strategy"]
