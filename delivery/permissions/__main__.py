"""Print docs/permissions.md: `python -m delivery.permissions > docs/permissions.md`."""

import sys

from delivery.permissions.markdown import render

if __name__ == "__main__":
    sys.stdout.write(render())
