"""Ctrl-C stops the program within a second, whatever it is doing, and leaves nothing half-written."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dagtune.files import remove_unfinished

__all__ = ["leave", "stops_soon", "tell_stopped"]

#: Seconds that the main thread has to stop by itself.
PATIENCE = 0.3

#: Signals that end the program: Ctrl-C, kill, and a terminal that is closed.
STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

_told = threading.Lock()


@contextmanager
def stops_soon() -> Iterator[None]:
    """Inside, a signal to stop raises KeyboardInterrupt, and a watchman ends the program if that takes too long.

    Arithmetic in native code hears of a signal only when it returns, and threads are waited for at exit. The signal's
    number arrives in a socket at once; the thread that reads it gives the main thread some time, then tidies up and
    ends the program.
    """
    os.environ.setdefault("PYTHONWARNINGS", "ignore")  # joblib's processes outlive us by a moment, and would complain
    inbox, outbox = socket.socketpair()
    outbox.setblocking(False)
    signal.set_wakeup_fd(outbox.fileno(), warn_on_full_buffer=False)
    for number in STOPPING:
        if number == getattr(signal, "SIGHUP", None) and signal.getsignal(number) is signal.SIG_IGN:
            continue  # nohup: the terminal may go, the program stays
        signal.signal(number, signal.default_int_handler)
    threading.Thread(target=_watch, args=(inbox,), daemon=True).start()
    yield  # both ends stay open as long as the program runs
    signal.set_wakeup_fd(-1)
    outbox.close()


def _watch(inbox: socket.socket) -> None:
    while (number := inbox.recv(1)) not in {bytes([each]) for each in STOPPING}:
        if not number:  # the program has come to its end by itself
            return
    time.sleep(PATIENCE)
    remove_unfinished()
    tell_stopped()
    leave(130)


def leave(code: int) -> None:
    """End the program at once: threads are not waited for, and nothing is tidied up that the system tidies anyway."""
    _end_workers()
    sys.stdout.flush()
    os._exit(code)


def _end_workers() -> None:
    """Processes that joblib started for the bootstrap do not hear a signal sent to this one alone."""
    loky = sys.modules.get("joblib.externals.loky.reusable_executor")
    executor = getattr(loky, "_executor", None)
    if executor is not None:
        executor.shutdown(wait=False, kill_workers=True)


def tell_stopped() -> None:
    """Say once that the program was stopped, and give a terminal its cursor back."""
    if _told.acquire(blocking=False):
        cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
        print(f"{cursor}dagtune: stopped, and nothing half-written is left", file=sys.stderr, flush=True)
