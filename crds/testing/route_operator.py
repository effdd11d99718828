"""A kopf operator: it writes the address of each Route into its status, in whichever version the cluster prefers."""

import kopf


@kopf.on.create("net.example.com", "routes")
@kopf.on.update("net.example.com", "routes", field="spec")
def address(spec, patch, **_):
    patch.status["address"] = f"{spec['host']}:{spec.get('port', 80)}"
