"""The thread that sends messages: their order and number, a middleware that blocks or fails."""

import os
import random
import signal
import threading
from contextlib import contextmanager

import pytest
from fake_middleware import PATIENCE, Middleware, blocked

from hrp_msgs.node._sender import Outlet, Sender

CAPACITY = 256


@contextmanager
def sending(publishers=1):
    """Yield a middleware, a sender, and outlets of publishers 1, 2, ..."""
    middleware = Middleware()
    sender = middleware.sender()
    try:
        yield middleware, sender, [Outlet(sender, k + 1) for k in range(publishers)]
    finally:
        sender.close(PATIENCE)


def test_messages_of_several_topics_are_sent_in_the_order_in_which_they_were_put():
    choose = random.Random(5)
    messages = [
        (choose.randint(1, 3), choose.randbytes(choose.randint(0, 2000))) for _ in range(3000)
    ]
    with sending(3) as (middleware, sender, outlets):
        for publisher, data in messages:
            assert outlets[publisher - 1].put(data)
        assert sender.flush(PATIENCE)
        assert middleware.sent == messages


def test_nothing_is_lost_or_overtaken_that_several_threads_put_and_flush():
    with sending(4) as (middleware, sender, outlets):

        def put(outlet):
            for k in range(1000):
                outlet.put(b"%d" % k)
                if k % 100 == 0:
                    sender.flush(PATIENCE)

        threads = [threading.Thread(target=put, args=[outlet]) for outlet in outlets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sender.flush(PATIENCE)
        for publisher in (1, 2, 3, 4):
            assert [int(d) for p, d in middleware.sent if p == publisher] == list(range(1000))


@pytest.mark.parametrize("size", [0, 1 << 20])
def test_what_waits_is_bounded_while_the_middleware_is_slow(size):
    most = min(CAPACITY, (32 << 20) // size + 1) if size else CAPACITY
    count = 0
    with sending() as (middleware, _, (outlet,)):

        def note(_):
            waiting.append(count - len(middleware.sent))
            return False

        waiting = []
        middleware.before = note
        for _ in range(3 * most):
            outlet.put(bytes(size))
            count += 1
    assert len(middleware.sent) == 3 * most
    assert max(waiting) <= most


def test_a_full_queue_waits_for_a_middleware_that_blocks_and_loses_nothing():
    put = []
    with sending() as (middleware, _, (outlet,)), blocked(middleware) as go_on:

        def fill():
            for k in range(CAPACITY + 10):
                outlet.put(b"%d" % k)
                put.append(k)

        thread = threading.Thread(target=fill)
        thread.start()
        while len(put) < CAPACITY:  # these do not wait
            assert thread.is_alive()
        assert len(put) == CAPACITY
        go_on.set()
        thread.join()
    assert [int(data) for _, data in middleware.sent] == list(range(CAPACITY + 10))


def test_a_signal_ends_the_wait_for_a_middleware_that_blocks():
    with sending() as (middleware, _, (outlet,)), blocked(middleware) as go_on:

        def interrupt(_):
            os.kill(os.getpid(), signal.SIGINT)
            return not go_on.wait(PATIENCE)

        middleware.before = interrupt
        fill = (outlet.put(b"") for _ in iter(int, 1))  # without end
        with pytest.raises(KeyboardInterrupt):
            all(fill)
        middleware.before = lambda _: False


def test_a_message_that_cannot_be_sent_is_counted_and_the_next_ones_are_sent():
    with sending(2) as (middleware, sender, outlets):
        middleware.before = lambda publisher: publisher == 1
        for _ in range(10):
            for outlet in outlets:
                assert outlet.put(b"x")
        sender.flush(PATIENCE)
        assert [outlet.failed for outlet in outlets] == [10, 0]
        assert middleware.sent == [(2, b"x")] * 10
        assert sender.error


def test_closing_sends_what_was_put_and_nothing_later():
    with sending(2) as (middleware, sender, (first, second)):
        for outlet in (first, second, first):
            outlet.put(b"x")
        first.close(PATIENCE)
        assert middleware.sent == [(1, b"x"), (2, b"x"), (1, b"x")]
        assert not first.put(b"y")
        assert second.put(b"z")
        assert (first.subscriptions(), second.subscriptions()) == (0, 1)
        assert (first.has_subscribers(), second.has_subscribers()) == (False, True)
        for _ in range(2):
            sender.close(PATIENCE)
        assert middleware.sent[3:] == [(2, b"z")]
        assert not second.put(b"y")
        assert not second.subscriptions()
        assert not sender.flush(PATIENCE)
        with pytest.raises(RuntimeError, match="the sender is closed"):
            Outlet(sender, 1)
    assert len(middleware.sent) == 4


@pytest.mark.parametrize("what", ["sender", "outlet"])
def test_closing_drops_what_a_middleware_that_blocks_does_not_take(what):
    with sending(2) as (middleware, sender, (outlet, other)), blocked(middleware) as go_on:
        for _ in range(5):
            outlet.put(b"x")
        sent_all = []
        close = (sender if what == "sender" else outlet).close
        thread = threading.Thread(target=lambda: sent_all.append(close(0.0)))
        thread.start()
        while outlet.subscriptions():
            assert thread.is_alive()
        go_on.set()  # it returns only now: the middleware has still used a message
        thread.join()
        sender.flush(PATIENCE)
        assert len(middleware.sent) + outlet.failed == 5
        assert not (sent_all == [True] and outlet.failed)
        count = len(middleware.sent)
        assert other.put(b"y") == (what == "outlet")
        sender.close(PATIENCE)
        assert middleware.sent[count:] == ([(2, b"y")] if what == "outlet" else [])


def test_flushing_gives_up_while_the_middleware_blocks_and_the_rest_is_sent_later():
    with sending() as (middleware, sender, (outlet,)):
        with blocked(middleware):
            started = threading.Event()
            block = middleware.before
            middleware.before = lambda publisher: started.set() or block(publisher)
            for _ in range(5):
                outlet.put(b"x")
            assert started.wait(PATIENCE)  # in the other thread
            assert sender.flush(0.0)
            assert not middleware.sent
        sender.flush(PATIENCE)
        assert len(middleware.sent) == 5


def test_a_forked_process_sends_nothing_and_can_end():
    with sending() as (middleware, sender, (outlet,)):
        outlet.put(b"x")
        sender.flush(PATIENCE)
        child = os.fork()
        if not child:
            sends = any(outlet.put(b"y") for _ in range(2 * CAPACITY))
            sends |= outlet.subscriptions() > 0 or sender.flush(PATIENCE) or bool(sender.error)
            outlet.close(PATIENCE)
            sender.close(PATIENCE)
            os._exit(sends or len(middleware.sent) != 1)
        assert os.waitpid(child, 0)[1] == 0


def test_only_bytes_are_messages():
    with sending() as (_, _, (outlet,)):
        for wrong in ("text", bytearray(4), None):
            with pytest.raises(TypeError, match="a message must be bytes, not"):
                outlet.put(wrong)


def test_the_thread_ends_whichever_thread_sends_the_last_message():
    for count in range(300):
        with sending() as (middleware, _, (outlet,)):
            for _ in range(count % 7):
                outlet.put(b"x")
        assert len(middleware.sent) == count % 7


@pytest.mark.parametrize("kind", [Sender, Outlet])
def test_none_is_made_without_its_arguments(kind):
    with pytest.raises(TypeError):
        kind.__new__(kind)
