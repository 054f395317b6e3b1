"""Engines of the tests: the calling process, and processes of their own."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
from concurrent.futures import Future


class Here:
    """Does each step when it is submitted. Handles are lists of one, so that no value is taken for a handle."""

    name = "here"
    threads = 1

    def __init__(self, workers=2, replaced=None):
        self.workers = workers
        self.replaced = replaced or {}
        self.steps = []

    def put(self, value):
        return Handle(value)

    def submit(self, step, *arguments, parts=1):
        self.steps.append(step.__name__)
        values = [argument.value if isinstance(argument, Handle) else argument for argument in arguments]
        found = self.replaced.get(step.__name__, step)(*values)
        return Handle(found) if parts == 1 else [Handle(part) for part in found]

    def wait(self, handles, seconds):
        return handles

    def get(self, handle):
        return handle.value


class Handle:
    def __init__(self, value):
        self.value = value


class Processes:
    """Has processes do steps, which get everything pickled; a queue by its simplest means."""

    name = "processes"
    threads = 1

    def __init__(self, workers):
        self.workers = workers
        self.pool = concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))

    def put(self, value):
        handle = Future()
        handle.set_result(value)
        return handle

    def submit(self, step, *arguments, parts=1):
        values = [argument.result() if isinstance(argument, Future) else argument for argument in arguments]
        found = self.pool.submit(step, *values)
        return found if parts == 1 else [self.put(part) for part in found.result()]

    def wait(self, handles, seconds):
        return list(concurrent.futures.wait(handles, seconds, concurrent.futures.FIRST_COMPLETED).done)

    def get(self, handle):
        return handle.result()
