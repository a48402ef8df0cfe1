"""Print the folder of this interpreter's Python.h; exit with 1 if it has none."""

import os
import sys
import sysconfig

folder = sysconfig.get_path("include")
print(folder)
sys.exit(not os.path.exists(os.path.join(folder, "Python.h")))
