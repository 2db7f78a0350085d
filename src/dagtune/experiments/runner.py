"""Run cells and keep their results; stopped at any point, the same call goes on where it was."""

from __future__ import annotations

import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from types import TracebackType
from typing import Any

from dagtune.experiments.cells import HANDING_OVER, RECIPES, SCALES, Cell, cells_of, work_key
from dagtune.experiments.declared import choose_experiments, choose_methods
from dagtune.experiments.measure import available_methods
from dagtune.experiments.store import Record, Store
from dagtune.experiments.worker import InterruptedRunError, Workers, run_on_cluster
from dagtune.parallel import count_threads
from dagtune.validation import InputError, check_choice, check_count

__all__ = ["CELL_TIMEOUT", "Progress", "Summary", "Tick", "latest", "reproduce"]

#: Seconds a cell may take unless the caller says otherwise.
CELL_TIMEOUT = 300.0
#: So many repeats of a method that ran out of time end its row: the others, and larger sizes, are not tried.
_ENOUGH_TIMEOUTS = 2
#: Seconds after which the measured pace of a run counts as much as the number of its places.
_SETTLING = 20.0
_FORMAT = 1


@dataclass(frozen=True)
class Tick:
    """How far a run is: cells done of all, share of this run's work, seconds left (None while nothing tells)."""

    done: int
    total: int
    share: float
    seconds_left: float | None
    record: Record | None = None


Progress = Callable[[Tick], None]


@dataclass(frozen=True)
class Summary:
    """What a run did: cells asked for, cells that had results before, and what became of the others."""

    total: int
    before: int
    ok: int
    failed: int
    timeout: int


def reproduce(
    names: str | Sequence[str] = "all",
    *,
    out: str | os.PathLike[str],
    sizes: Sequence[int] | None = None,
    repeats: int = 10,
    recipe: str = "printed",
    standardize: bool | str = False,
    methods: Sequence[str] | None = None,
    jobs: int | None = None,
    cell_timeout: float | None = CELL_TIMEOUT,
    scheduler: str | None = None,
    retry: bool = False,
    progress: Progress | None = None,
) -> Summary:
    """Run what the paper ran; every finished cell is a line of ``out``/results.jsonl.

    names: experiments (``EXPERIMENTS``), or "all".
    sizes, repeats: numbers of nodes among the paper's five (None: all), tables for each.
    recipe: "printed", "released" or "both". standardize: False, True or "both".
    methods: names from ``METHODS``; None takes the default ones. Chance and sorting by variance always come along.
    jobs: cells side by side, None for one a processor; on a cluster all its threads.
    cell_timeout: seconds after which a cell is stopped and recorded as such; None waits for ever.
    scheduler: address of a Dask scheduler whose workers run the cells.
    retry: run cells that failed or ran out of time again; finished ones never are.
    progress: called with a :class:`Tick` at the start and after every cell.
    """
    if cell_timeout is not None and not cell_timeout > 0:
        raise InputError(f"the time limit of a cell must be a positive number of seconds, not {cell_timeout!r}")
    cells = cells_of(
        choose_experiments(names),
        choose_methods(methods, available_methods()),
        sizes=sizes,
        repeats=repeats,
        recipes=RECIPES if check_choice("recipe", recipe, (*RECIPES, "both")) == "both" else (recipe,),
        scales=_scales(standardize),
    )
    with Store(out) as store:
        run = _Run(store, cells, cell_timeout, progress or _silent, retry=retry)
        if run.pending:
            with _crew(jobs, scheduler) as crew:
                run.all(crew)
        store.pack()
        return run.summary()


def latest(records: Iterable[Record]) -> dict[str, Record]:
    """The last record of each cell, by the cell's key."""
    return {Cell(**record["cell"]).key: record for record in records}


def _silent(tick: Tick) -> None:
    """Nobody wants to know."""


def _scales(standardize: bool | str) -> tuple[str, ...]:
    choices = {False: SCALES[:1], True: SCALES[1:], "both": SCALES}
    if standardize not in choices:
        raise InputError(f"standardize must be False, True or 'both', not {standardize!r}")
    return choices[standardize]


class _Run:
    """The cells of one call: which are still to do, what came of the others, and how long the rest may take."""

    def __init__(
        self, store: Store, cells: Sequence[Cell], timeout: float | None, tell: Progress, *, retry: bool
    ) -> None:
        self._store, self._timeout, self._tell = store, timeout, tell
        self._total = len(cells)
        known = latest(store.records)
        done = {key for key, record in known.items() if record["status"] == "ok" or not retry}
        self.pending = [cell for cell in cells if not (cell.key in done and _same_settings(cell, known[cell.key]))]
        self._before = self._total - len(self.pending)
        self._counts: Counter[str] = Counter()
        self._timeouts = Counter(
            _row(Cell(**record["cell"]))
            for record in known.values()
            if record["status"] == "timeout" and not retry and record.get("seconds", 0) >= (timeout or 0) > 0
        )
        self._by_work = {
            work_key(record["cell"], record["settings"]): record
            for record in known.values()
            if record["status"] == "ok"
        }
        # Cells that ask for the same work are run once and written together.
        self._groups: dict[str, list[Cell]] = {}
        for cell in self.pending:
            self._groups.setdefault(cell.work, []).append(cell)
        self._forecast = _Forecast([group[0] for group in self._groups.values()], timeout)

    def all(self, crew: _Crew) -> None:
        """Run what is pending, no more at a time than the crew can take, and write each result as it comes."""
        self._forecast.places = crew.places
        self._report(None)
        waiting = iter(self._groups.values())
        running: dict[Future[dict[str, Any]], list[Cell]] = {}
        while True:
            while len(running) < crew.places and (group := next(waiting, None)) is not None:
                found = self._without_running(group[0])
                if found is not None:
                    self._write(group, found)
                else:
                    running[crew.submit(group[0], self._timeout)] = group
            if not running:
                return
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                self._write(running[future], _outcome(future, running.pop(future)[0]))

    def summary(self) -> Summary:
        """What became of the cells."""
        return Summary(self._total, self._before, self._counts["ok"], self._counts["failed"], self._counts["timeout"])

    def _without_running(self, cell: Cell) -> Record | None:
        """A result that is already there under another experiment, or a row that ends because it ran out of time."""
        if cell.work in self._by_work:
            twin = self._by_work[cell.work]
            return twin | {"computed_for": twin["cell"]["experiment"]}
        smaller = [d for d in range(cell.nodes + 1) if self._timeouts[_row(replace(cell, nodes=d))] >= _ENOUGH_TIMEOUTS]
        if not smaller or self._timeout is None:
            return None
        reason = f"not started: {_ENOUGH_TIMEOUTS} repeats at d = {smaller[0]} ran out of time"
        return {"seeds": asdict(cell.seeds), "settings": cell.settings, "status": "timeout", "reason": reason}

    def _write(self, group: Sequence[Cell], found: Record) -> None:
        stamp = {"format": _FORMAT, "finished": datetime.now(UTC).isoformat(timespec="seconds")}
        limit = {} if self._timeout is None else {"cell_timeout": self._timeout}
        records = [found | {"cell": asdict(cell)} | stamp | limit for cell in group]
        self._store.append(records)
        if found["status"] == "timeout" and "seconds" in found:
            self._timeouts[_row(group[0])] += 1
        self._forecast.count(group[0], found.get("seconds"))
        for record in records:
            self._counts[record["status"]] += 1
            self._report(record)

    def _report(self, record: Record | None) -> None:
        done = self._before + self._counts.total()
        share, left = self._forecast.outlook()
        self._tell(Tick(done, self._total, share, left, record))


class _Forecast:
    """How long the rest may take: declared costs, corrected for each method by what its cells took so far."""

    def __init__(self, cells: Sequence[Cell], timeout: float | None) -> None:
        self.places = 1
        self._timeout = math.inf if timeout is None else timeout
        self._left: defaultdict[str, float] = defaultdict(float)
        for cell in cells:
            self._left[cell.method] += self._expected(cell)
        self._expected_so_far: defaultdict[str, float] = defaultdict(float)
        self._taken: defaultdict[str, float] = defaultdict(float)
        self._began = time.perf_counter()

    def count(self, cell: Cell, seconds: float | None) -> None:
        """A cell is done; None is one that nobody had to run, or that broke."""
        expected = self._expected(cell)
        self._left[cell.method] -= expected
        if seconds is not None:
            self._expected_so_far[cell.method] += expected
            self._taken[cell.method] += HANDING_OVER + seconds

    def outlook(self) -> tuple[float, float | None]:
        """Share of the time that is over, and seconds left; 0 and None before anything tells."""
        elapsed = time.perf_counter() - self._began
        if not self._taken:
            return 0.0, None
        # Seconds of work a second: one a place at first, while children still start, then as measured.
        pace = (self.places * _SETTLING + sum(self._taken.values())) / (_SETTLING + elapsed)
        left = sum(self._left_of(method) for method in self._left) / pace
        return elapsed / (elapsed + left), left

    def _left_of(self, method: str) -> float:
        known = self._expected_so_far[method]
        return max(self._left[method], 0.0) * (self._taken[method] / known if known else 1.0)

    def _expected(self, cell: Cell) -> float:
        return min(cell.expected_seconds, self._timeout)


def _same_settings(cell: Cell, record: Record) -> bool:
    """A record made by other declarations is no result of this cell."""
    return bool(record["settings"] == cell.settings)


def _row(cell: Cell) -> tuple[Any, ...]:
    """A method on one kind of data and one size: what a time-out says something about."""
    return cell.method, cell.model, cell.nodes, cell.recipe, cell.standardized


def _outcome(future: Future[dict[str, Any]], cell: Cell) -> Record:
    """The record, or what kept it from being made; a machine of the cluster may be gone."""
    try:
        return future.result()
    except InterruptedRunError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        return {"seeds": asdict(cell.seeds), "settings": cell.settings, "status": "failed", "reason": reason}


class _Crew(AbstractContextManager["_Crew"]):
    """Who runs cells: ``places`` at a time."""

    places: int

    def submit(self, cell: Cell, timeout: float | None) -> Future[dict[str, Any]]:
        raise NotImplementedError


class _LocalCrew(_Crew):
    """Child processes of this one."""

    def __init__(self, jobs: int | None) -> None:
        self.places = check_count("jobs", count_threads() if jobs is None else jobs)
        self._workers = Workers()
        self._threads = ThreadPoolExecutor(self.places)

    def submit(self, cell: Cell, timeout: float | None) -> Future[dict[str, Any]]:
        return self._threads.submit(self._workers.run, cell, timeout)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._workers.close()
        self._threads.shutdown(wait=True, cancel_futures=True)


class _DaskCrew(_Crew):
    """The workers of a Dask cluster, each with children of its own."""

    def __init__(self, address: str) -> None:
        try:
            distributed = import_module("distributed")
        except ImportError:
            raise InputError("--scheduler needs Dask: pip install 'dagtune[dask]'") from None
        try:
            self._client = distributed.Client(address, timeout=10)
        except (OSError, ValueError) as error:
            raise InputError(f"no Dask scheduler answers at {address}: {error}") from None
        self.places = sum(self._client.nthreads().values())
        if not self.places:
            self._client.close()
            raise InputError(f"the Dask scheduler at {address} has no workers: start one with `dask worker {address}`")
        self._executor: Executor = self._client.get_executor(pure=False)

    def submit(self, cell: Cell, timeout: float | None) -> Future[dict[str, Any]]:
        return self._executor.submit(run_on_cluster, asdict(cell), timeout)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._executor.shutdown(wait=False)
        self._client.close()


def _crew(jobs: int | None, scheduler: str | None) -> _Crew:
    return _LocalCrew(jobs) if scheduler is None else _DaskCrew(scheduler)
