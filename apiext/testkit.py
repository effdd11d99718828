"""Give tests of CRDs and operators a server: the public names of the test kit, which manifests/STABILITY.md promises.

`Server` runs without pytest. The pytest plugin needs no import: installed with apiext, it declares the fixtures that crds/README.md lists.
"""

from apiext.tools.testkit.eventually import eventually
from apiext.tools.testkit.pytest_plugin import Advance, Load
from apiext.tools.testkit.server import Server

__all__ = ["Advance", "Load", "Server", "eventually"]
