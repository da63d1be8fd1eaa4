import asyncio
import itertools
import socket
import threading
from collections.abc import Iterator

import pytest

from local_sagemaker.hosting.connections import PING, Connection, Connections


class Server:
    """Accepts connections and keeps them; the other end of each is at the same place."""

    def __init__(self) -> None:
        self.ours: list[socket.socket] = []
        self.theirs: list[socket.socket] = []
        self.gone = False

    def connect(self) -> socket.socket:
        if self.gone:
            raise ConnectionError("the container has ended")
        ours, theirs = socket.socketpair()
        self.ours.append(ours)
        self.theirs.append(theirs)
        return ours


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    for opened in (*made.ours, *made.theirs):
        opened.close()


@pytest.fixture
def connections(server: Server) -> Iterator[Connections]:
    made = Connections(server.connect)
    yield made
    made.close()


def opened(server: Server) -> list[bool]:
    return [it.fileno() != -1 for it in server.ours]


# Lanes


def test_a_lane_is_used_again(connections: Connections, server: Server) -> None:
    for _ in range(3):
        with connections.lane() as lane:
            assert lane.sock is server.ours[0]
    assert len(server.ours) == 1


def test_lanes_at_one_time_are_connections_of_their_own(
    connections: Connections, server: Server
) -> None:
    with connections.lane() as first, connections.lane() as second:
        assert first.sock is not second.sock
    with connections.lane() as again:
        assert again.sock is first.sock
    assert len(server.ours) == 2


def test_a_lane_is_busy_until_its_block_ends(connections: Connections) -> None:
    with connections.lane() as first:
        with connections.lane() as second:
            connections.sent(second)
            assert connections._busy == {first: False, second: True}
        assert connections._busy == {first: False}
    assert connections._busy == {}


def test_a_lane_that_fails_is_closed_and_made_anew(
    connections: Connections, server: Server
) -> None:
    with pytest.raises(TimeoutError), connections.lane():
        raise TimeoutError
    assert (opened(server), len(connections._busy)) == ([False], 0)
    with connections.lane() as lane:
        assert lane.sock is server.ours[1]


def test_a_lane_that_the_server_has_closed_is_made_anew(
    connections: Connections, server: Server
) -> None:
    with connections.lane() as lane:
        lane.close()  # as after an answer that says so
    with connections.lane() as lane:
        assert lane.sock is server.ours[1]


def test_without_a_server_there_is_no_lane_and_none_is_busy(
    connections: Connections, server: Server
) -> None:
    server.gone = True
    with pytest.raises(ConnectionError), connections.lane():
        pass
    assert connections._busy == {}


# Connections for invocations


async def take(connections: Connections) -> Connection:
    return await connections.take()


async def test_a_connection_is_used_again(connections: Connections) -> None:
    first = await take(connections)
    connections.give_back(first)
    assert await take(connections) is first
    first.writer.close()


async def test_two_at_one_time_have_connections_of_their_own(connections: Connections) -> None:
    first, second = await take(connections), await take(connections)
    assert first is not second
    for it in (first, second):
        it.writer.close()


async def answer_ping(server: Server, number: int) -> None:
    """Answer at the other end of a connection, as a thread does that no load holds."""
    await made(server, number + 1)
    theirs = server.theirs[number]
    theirs.setblocking(False)
    assert await asyncio.get_running_loop().sock_recv(theirs, len(PING)) == PING
    theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")


async def made(server: Server, count: int) -> None:
    while len(server.theirs) < count:
        await asyncio.sleep(0)


async def test_while_a_lane_is_busy_a_connection_is_taken_that_has_answered(
    connections: Connections, server: Server
) -> None:
    before = await take(connections)
    connections.give_back(before)
    with connections.lane() as lane:
        connections.sent(lane)
        taking = asyncio.create_task(take(connections))
        await made(server, 4)  # the first that is tried waits behind the lane: another is tried
        await answer_ping(server, 3)
        during = await taking
        assert during.avoids == {lane}
        connections.give_back(during)
        assert await take(connections) is during
    connections.give_back(during)
    assert await take(connections) is during  # those that avoid a lane are taken first
    assert await take(connections) is before
    assert opened(server)[2:4] == [False, True]
    for it in (before, during):
        it.writer.close()


async def test_what_has_answered_before_a_lanes_request_was_sent_proves_nothing(
    connections: Connections, server: Server
) -> None:
    async def answer_all() -> None:
        for number in itertools.count(1):  # after the lane
            await answer_ping(server, number)

    answering = asyncio.create_task(answer_all())
    with connections.lane() as lane:
        taking = asyncio.create_task(take(connections))
        await made(server, 5)
        assert not taking.done()
        connections.sent(lane)
        taken = await taking
    answering.cancel()
    assert taken.avoids == {lane}
    taken.writer.close()
    connections._close_idle()


async def test_a_connection_that_the_server_has_closed_is_closed_and_not_taken(
    connections: Connections, server: Server
) -> None:
    first = await take(connections)
    connections.give_back(first)
    server.theirs[0].close()
    assert await first.reader.read() == b""
    second = await take(connections)
    assert second is not first
    assert first.writer.is_closing()
    second.writer.close()


async def test_without_a_server_there_is_no_connection(
    connections: Connections, server: Server
) -> None:
    server.gone = True
    with pytest.raises(ConnectionError):
        await take(connections)


async def test_a_connection_that_comes_after_nobody_waits_is_closed(server: Server) -> None:
    asked, answer = threading.Event(), threading.Event()

    def connect() -> socket.socket:
        asked.set()
        answer.wait()
        return server.connect()

    taking = asyncio.create_task(Connections(connect).take())
    await asyncio.to_thread(asked.wait)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    answer.set()
    while opened(server) != [False]:
        await asyncio.sleep(0)


# The end


async def test_closing_closes_what_is_kept_from_any_thread(server: Server) -> None:
    connections = Connections(server.connect)
    idle, under_way = await take(connections), await take(connections)
    connections.give_back(idle)
    with connections.lane():
        pass
    closing = threading.Thread(target=connections.close)
    closing.start()
    closing.join()
    assert not idle.writer.is_closing()  # its loop's to close
    await idle.writer.wait_closed()
    assert not under_way.writer.is_closing()
    connections.give_back(under_way)
    assert under_way.writer.is_closing()
    assert opened(server)[2:] == [False]


def test_what_comes_back_after_the_end_is_closed(server: Server) -> None:
    connections = Connections(server.connect)
    with connections.lane():
        connections.close()
    assert connections._lanes == []
    assert opened(server) == [False]
