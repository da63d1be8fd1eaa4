"""Print docs/permissions.md: `python -m release.permissions > docs/permissions.md`."""

import sys

from release.permissions.markdown import render

if __name__ == "__main__":
    sys.stdout.write(render())
