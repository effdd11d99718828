"""The conversion webhook of the definition."""

import json
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from hack.lib.life.definition import convert
from hack.lib.servers.webhook_server import serve


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.dumps(review | {"request": None, "response": _respond(review["request"])}).encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def _respond(request: dict[str, Any]) -> dict[str, Any]:
    version = request["desiredAPIVersion"].rpartition("/")[2]
    converted = [convert(obj, version) for obj in request["objects"]]
    return {"uid": request["uid"], "convertedObjects": converted, "result": {"status": "Success"}}


if __name__ == "__main__":
    serve(_Handler, *sys.argv[1:])
