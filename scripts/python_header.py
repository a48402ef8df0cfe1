"""Print the folder of this interpreter's Python.h; exit with 1 if it has none, with 2 if no agent can be built for it."""

import os
import sys
import sysconfig

is_free_threaded = "t" in getattr(sys, "abiflags", "")
if sys.implementation.name != "cpython" or is_free_threaded or not (3, 9) <= sys.version_info[:2] <= (3, 13):
    print("%s: agents are built for CPython 3.9 to 3.13, not free-threaded" % sys.executable)
    sys.exit(2)
folder = sysconfig.get_path("include")
print(folder)
sys.exit(not os.path.exists(os.path.join(folder, "Python.h")))
