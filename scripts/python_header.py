# SPDX-License-Identifier: Apache-2.0
"""Print the folder of this interpreter's Python.h; exit with 1 if it has none, with 2 if no agent can be built for it."""

import os
import sys
import sysconfig

from pinned import PINNED, as_numbers

oldest, newest = PINNED["OLDEST_PYTHON"], PINNED["NEWEST_PYTHON"]
is_free_threaded = "t" in getattr(sys, "abiflags", "")
if sys.implementation.name != "cpython" or is_free_threaded or \
        not as_numbers(oldest) <= sys.version_info[:2] <= as_numbers(newest):
    print("%s: agents are built for CPython %s to %s, not free-threaded" % (sys.executable, oldest, newest))
    sys.exit(2)
folder = sysconfig.get_path("include")
print(folder)
sys.exit(not os.path.exists(os.path.join(folder, "Python.h")))
