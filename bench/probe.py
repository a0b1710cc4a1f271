"""Another client that asks for the status again and again; run as a program of its own, so that nothing else in
the bench delays its clock.

The rule it keeps: it prints the latency of every request, in seconds, once its input is closed.
"""

from __future__ import annotations

import http.client
import json
import select
import sys
import time

# A phone or a script that asks often; and not so often that it is the load itself.
PAUSE_S = 0.002


def main(port: int, token: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    took: list[float] = []
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], PAUSE_S)[0]:
        began = time.perf_counter()
        connection.request("GET", "/api/status", headers={"Authorization": f"Bearer {token}"})
        connection.getresponse().read()
        took.append(time.perf_counter() - began)
    print(json.dumps(took), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
