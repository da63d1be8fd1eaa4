"""What programs say of their version."""

import subprocess

SECONDS = 60


def version_said(program: str) -> str:
    """Return what a program prints when it is asked for its version; nothing where it fails."""
    asked = [program, "--version"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout.strip() if told.returncode == 0 else ""
