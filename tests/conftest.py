"""For all tests: a busy machine makes a test slow, never red; chance is for `make soak`, which explores anew."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ours",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("YOURCALL_SOAK") != "1",
)
settings.load_profile("ours")

# A shell that starts a job in the background lets it ignore Ctrl-C, and so would every program that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
