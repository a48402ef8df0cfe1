#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Take the picture of a report that the README or a page shows.

usage: picture.py [--dark] REPORT/report.html docs/report.png     of examples/digits/train.py with the condition of train_broken.py,
                                                                  checked by what --specific learned from two runs of train.py
       picture.py REPORT/report.html docs/plan.png 740            of the broken script of examples/tensor-parallel

It needs Chromium. The window is as wide as a README is shown, and as high as the lines of the first finding unless
its height in pixels is given.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "report"))
from browser import Browser  # noqa: E402

WIDTH, HEIGHT = 1000, 785
LARGEST = 170_000  # bytes: it stands in git


def main():
    args = [arg for arg in sys.argv[1:] if arg != "--dark"]
    if len(args) not in (2, 3):
        sys.exit(__doc__)
    report, picture, height = [*args, HEIGHT][:3]
    browser = Browser()
    try:
        browser.send("Emulation.setScrollbarsHidden", hidden=True)
        browser.show(WIDTH, int(height), dark="--dark" in sys.argv)
        browser.open(report)
        browser.picture(picture, whole=False)
    finally:
        browser.close()
    size = pathlib.Path(picture).stat().st_size
    if size > LARGEST:
        sys.exit(f"{picture}: {size} bytes are more than {LARGEST}")


if __name__ == "__main__":
    main()
