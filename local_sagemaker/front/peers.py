"""The user of the other end of a TCP connection on this machine.

Source: sock_diag(7), and linux/inet_diag.h. The kernel finds the socket by its addresses, without
reading its tables: /proc/net/tcp has the same data, but takes milliseconds.
"""

import os
import socket
import struct
from contextlib import suppress
from typing import NamedTuple

Address = tuple[str, int]

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST = 4, 20, 1
TCP_ESTABLISHED = 1
_HEADER = struct.Struct("=IHHII")  # nlmsghdr
_REQUEST = struct.Struct("=4BI")  # inet_diag_req_v2, up to its socket id
_SOCKET_ID = struct.Struct("!2H4s12x4s12xIQ")  # inet_diag_sockid
_NO_COOKIE = 2**64 - 1
_ANSWER = struct.Struct("=xB2x48x12x2I")  # inet_diag_msg: state, user and inode


class _Owner(NamedTuple):
    user: int
    inode: int


def is_trusted(client: Address, server: Address) -> bool:
    """Return whether the socket `client`, connected to `server`, belongs to this user or to root.

    A closed socket has user 0 and inode 0, and must not pass for root's: the second look-up shows
    that the socket was open during the first one.
    """
    owner = _owner(client, server)
    if owner and owner.user == 0:
        later = _owner(client, server)
        return later is not None and later.inode != 0
    return owner is not None and owner.user == os.getuid()


def _owner(client: Address, server: Address) -> _Owner | None:
    """Return the owner of an established socket; None if the kernel does not know it."""
    (host, port), (server_host, server_port) = client, server
    addresses = socket.inet_aton(host), socket.inet_aton(server_host)
    socket_id = _SOCKET_ID.pack(port, server_port, *addresses, 0, _NO_COOKIE)
    request = _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0) + socket_id
    size = _HEADER.size + len(request)
    header = _HEADER.pack(size, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0)
    with (
        suppress(OSError),
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as kernel,
    ):
        kernel.send(header + request)
        answer = kernel.recv(1024)
        _, kind, *_ = _HEADER.unpack_from(answer)
        if kind == SOCK_DIAG_BY_FAMILY:
            state, user, inode = _ANSWER.unpack_from(answer, _HEADER.size)
            if state == TCP_ESTABLISHED:
                return _Owner(user, inode)
    return None
