"""The end of the process that runs ministack."""

import signal
import subprocess
import sys

BUSY = """
import asyncio, socket
from local_sagemaker import emulator

class Busy:
    async def serve(self, sockets):
        await asyncio.Event().wait()

emulator.STOP_SECONDS = 0
emulator.http_server = lambda *args, **options: Busy()
listener = socket.create_server(("127.0.0.1", 0))
asyncio.run(emulator._serve(None, listener.detach(), []))
"""


def test_operations_in_progress_do_not_outlive_the_server() -> None:
    """Its server, which would stop it, may have been killed."""
    process = subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, process_group=0)
    assert process.stdin
    process.stdin.close()
    assert process.wait() == -signal.SIGKILL
