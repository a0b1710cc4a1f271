#!/usr/bin/env python3
"""Stand between yourcall and an ACP agent, pass every line on as it is, and write each into a log.

    yourcall run --acp -- python3 /path/to/tools/acp_log.py /tmp/kilo.jsonl -- kilo acp

The log is what the tests play again (tests/data/acp): one `{"t", "dir", "msg"}` a line. Look through it before you
share it: all that was said is in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import IO


def main(words: list[str]) -> int:
    if len(words) < 3 or words[1] != "--":
        print("usage: acp_log.py LOG -- AGENT [ARGUMENTS]", file=sys.stderr)
        return 2
    began, lock = time.monotonic(), threading.Lock()
    with (
        open(words[0], "w", encoding="utf-8") as log,
        subprocess.Popen(words[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as agent,
    ):

        def carry(source: IO[bytes], target: IO[bytes], direction: str) -> None:
            for line in iter(source.readline, b""):
                try:
                    message: object = json.loads(line)
                except ValueError:
                    message = line.decode("utf-8", "replace")
                with lock:
                    told = {"t": round(time.monotonic() - began, 3), "dir": direction, "msg": message}
                    log.write(json.dumps(told, ensure_ascii=False) + "\n")
                    log.flush()
                target.write(line)
                target.flush()
            target.close()

        assert agent.stdin is not None
        assert agent.stdout is not None
        inward = threading.Thread(target=carry, args=(sys.stdin.buffer, agent.stdin, "client->agent"), daemon=True)
        inward.start()
        carry(agent.stdout, sys.stdout.buffer, "agent->client")
        return agent.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
