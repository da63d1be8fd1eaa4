import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from local_aws.hosting.connections import SPARE, Connection, Connections


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


def test_a_lane_with_the_lowest_number_that_is_free_is_taken(
    connections: Connections, server: Server
) -> None:
    with ExitStack() as second:
        with connections.lane():
            second.enter_context(connections.lane())
            assert connections._busy == {0, 1}
        assert connections._busy == {1}
        with connections.lane() as lane:
            assert lane.sock is server.ours[0]
            assert connections._busy == {0, 1}
    assert connections._busy == frozenset()


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
    assert connections._busy == frozenset()


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


async def test_a_connection_made_before_a_lane_was_busy_waits_until_it_is_not(
    connections: Connections,
) -> None:
    before = await take(connections)
    connections.give_back(before)
    with connections.lane():
        during = await take(connections)
        assert (set(during.avoids), set(before.avoids)) == ({0}, set())
        connections.give_back(during)
        assert await take(connections) is during
        with connections.lane():
            both = await take(connections)
            assert both.avoids == {0, 1}
            connections.give_back(both)
        assert await take(connections) is both  # it avoids more than it must
    connections.give_back(both)
    connections.give_back(during)
    assert await take(connections) is during
    assert await take(connections) is both
    assert await take(connections) is before
    for it in (before, during, both):
        it.writer.close()


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


# Spares


def test_spares_avoid_the_lanes_that_are_busy(connections: Connections) -> None:
    with connections.lane():
        connections.make_spare()
        connections.make_spare()
    assert [it for _, it in connections._made] == [{0}] * SPARE


async def test_an_invocation_takes_a_spare_while_a_lane_is_busy(
    connections: Connections, server: Server
) -> None:
    with connections.lane():
        connections.make_spare()
    made = len(server.ours)
    with connections.lane():
        taken = [await take(connections) for _ in range(SPARE)]
        assert len(server.ours) == made
        taken.append(await take(connections))
        assert len(server.ours) == made + 1
        for it in taken:
            connections.give_back(it)
        connections.make_spare()  # there are some, with an invocation behind them
        assert len(server.ours) == made + 1
    connections._close_idle()


def test_a_server_that_is_gone_needs_no_spare(connections: Connections, server: Server) -> None:
    with connections.lane():
        server.gone = True
        connections.make_spare()
    assert connections._made == []


# The end


async def test_closing_closes_what_is_kept_from_any_thread(server: Server) -> None:
    connections = Connections(server.connect)
    idle, under_way = await take(connections), await take(connections)
    connections.give_back(idle)
    with connections.lane():
        connections.make_spare()
    closing = threading.Thread(target=connections.close)
    closing.start()
    closing.join()
    assert not idle.writer.is_closing()  # its loop's to close
    await idle.writer.wait_closed()
    assert not under_way.writer.is_closing()
    connections.give_back(under_way)
    assert under_way.writer.is_closing()
    assert opened(server)[2:] == [False] * (1 + SPARE)


def test_what_comes_back_after_the_end_is_closed(server: Server) -> None:
    connections = Connections(server.connect)
    with connections.lane():
        connections.close()
        connections.make_spare()
    assert (connections._made, connections._lanes) == ([], {})
    assert opened(server) == [False] * (1 + SPARE)
