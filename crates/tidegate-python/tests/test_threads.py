"""Python goes on while a simulation runs, and can end it."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import tidegate

LONG = {"run.duration": "100 h", "run.warmup": "0 s", "run.series": "1 h"}


def interrupt_soon(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_another_thread_runs_on():
    counted = 0
    done = threading.Event()

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    try:
        interrupt_soon(0.5)
        with pytest.raises(KeyboardInterrupt):
            tidegate.run("flood", set=LONG, seeds=1)
    finally:
        done.set()
        other.join()
    # Half a second in steps of a millisecond; a lock held throughout would leave one.
    assert counted > 50


def test_interrupt_ends_a_run_within_a_second():
    begin = time.monotonic()
    interrupt_soon(0.3)
    with pytest.raises(KeyboardInterrupt):
        tidegate.compare("flood", ["red", "sfb"], set=LONG)
    assert time.monotonic() - begin < 1.3


def test_a_handler_of_ones_own_is_heard():
    class Enough(Exception):
        pass

    def enough(*_):
        raise Enough

    old = signal.signal(signal.SIGALRM, enough)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Enough):
            tidegate.run("flood", set=LONG, seeds=1)
    finally:
        signal.signal(signal.SIGALRM, old)


def test_two_runs_at_once_give_what_each_gives_alone(short):
    alone = tidegate.run("flood", "red", set=short, seeds=2).document["groups"]
    found = []

    def run():
        found.append(tidegate.run("flood", "red", set=short, seeds=2).document["groups"])

    threads = [threading.Thread(target=run) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [alone] * 3


def test_importing_needs_nothing_but_the_package():
    code = "import tidegate, sys; sys.exit('numpy' in sys.modules or 'pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
