#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Take the picture of a report that the README or a page shows.

usage: picture.py REPORT/report.html docs/report.png     of examples/digits/train.py with the condition of train_broken.py, beside
                                                         what --specific learned of two runs of train.py
       picture.py REPORT/report.html docs/plan.png 740   of the broken script of examples/tensor-parallel

It needs Chromium. The window is as wide as the README is shown, and as high as the first finding with its loss unless
its height in pixels is given.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "report"))
from browser import Browser  # noqa: E402

WIDTH, HEIGHT = 1000, 1170
LARGEST = 170_000  # bytes: it stands in git


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    browser = Browser()
    try:
        browser.send("Emulation.setScrollbarsHidden", hidden=True)
        browser.show(WIDTH, int(sys.argv[3]) if len(sys.argv) == 4 else HEIGHT)
        browser.open(sys.argv[1])
        browser.picture(sys.argv[2], whole=False)
    finally:
        browser.close()
    size = pathlib.Path(sys.argv[2]).stat().st_size
    if size > LARGEST:
        sys.exit(f"{sys.argv[2]}: {size} bytes are more than {LARGEST}")


if __name__ == "__main__":
    main()
