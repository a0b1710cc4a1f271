"""Every speed and size we claim, measured next to its floor in one run: `make bench`, or `python -m bench --help`.

The rule it keeps: nothing is compared across runs. Ours and the other take turns (A B A B …) on the same machine
in the same minute, and what is claimed is the ratio of their medians; a goal in milliseconds or megabytes is
the limit of the issue that set it. Only temporary homes and processes of its own are touched.
"""

import sys
from pathlib import Path

# The kit of the tests drives the real CLIs here, too.
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
