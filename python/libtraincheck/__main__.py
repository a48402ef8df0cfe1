# SPDX-License-Identifier: Apache-2.0
"""Where a C program finds the library: cc gate.c $(PKG_CONFIG_PATH=$(python -m libtraincheck --pkgconfigdir) pkg-config ...)"""

import argparse
import pathlib

from . import __version__


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m libtraincheck", description="Where a C program finds libtraincheck.so.")
    parser.add_argument("--version", action="version", version=__version__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--pkgconfigdir", dest="name", action="store_const", const="pkgconfig", help="folder of traincheck.pc")
    which.add_argument("--cmakedir", dest="name", action="store_const", const="cmake",
                       help="folder of traincheck-config.cmake, for -Dtraincheck_DIR=")
    which.add_argument("--includedir", dest="name", action="store_const", const="include", help="folder of traincheck/*.h")
    folder = pathlib.Path(__file__).with_name(parser.parse_args().name)
    if not folder.is_dir():
        parser.exit(1, f"{folder} is not there: this is not an installed wheel\n")
    print(folder)


if __name__ == "__main__":
    main()
