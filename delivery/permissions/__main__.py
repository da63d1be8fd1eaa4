"""Print the ledger as Markdown: `python -m delivery.permissions`."""

import sys

from delivery.permissions.markdown import render

if __name__ == "__main__":
    sys.stdout.write(render())
