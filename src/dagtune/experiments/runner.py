"""Run cells and keep their results. After a stop at any point, the same call continues where it was."""

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
#: After so many timeouts of a method in one setting, its other repeats and larger sizes are not tried.
_ENOUGH_TIMEOUTS = 2
#: Seconds after which the measured speed of a run counts as much as the number of its workers.
_SETTLING = 20.0
_FORMAT = 1


@dataclass(frozen=True)
class Tick:
    """How far a run has come.

    Parameters
    ----------
    done, total : int
        Cells that have a result, and all cells that were asked for.
    share : float
        Share of this run's work that is done, from 0 to 1.
    seconds_left : float or None
        Estimate; None before the first cell is done.
    record : dict, optional
        The cell that has just finished.
    """

    done: int
    total: int
    share: float
    seconds_left: float | None
    record: Record | None = None


Progress = Callable[[Tick], None]


@dataclass(frozen=True)
class Summary:
    """What a run did.

    Parameters
    ----------
    total : int
        Cells that were asked for.
    before : int
        Cells that already had a result.
    ok, failed, timeout : int
        What became of the others.
    """

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
    """Run the paper's experiments. Finished cells are stored at once, and a second call runs only what is missing.

    Parameters
    ----------
    names : str or sequence of str
        Names in ``EXPERIMENTS``, or "all".
    out : path
        Folder of the results.
    sizes : sequence of int, optional
        Numbers of nodes, some of the paper's five; by default all.
    repeats : int
        Tables for each setting.
    recipe : {"printed", "released", "both"}
        The formulas that the paper prints, or those of the authors' script.
    standardize : bool or "both"
        Whether the columns are standardised.
    methods : sequence of str, optional
        Names in ``METHODS``; by default those that are marked so. Chance and sorting by variance are always added.
    jobs : int, optional
        Cells that run at the same time; by default one for each processor. On a cluster, all its threads are used.
    cell_timeout : float, optional
        Seconds after which a cell is stopped and recorded as timed out; None sets no limit.
    scheduler : str, optional
        Address of a Dask scheduler whose workers run the cells.
    retry : bool
        Whether to run cells again that failed or timed out.
    progress : callable, optional
        Called with a :class:`Tick` at the start and after every cell.

    Returns
    -------
    Summary

    Raises
    ------
    InputError
        If a name or an option is unknown, or another run is writing to ``out``.

    References
    ----------
    Wang and Liu 2023, "Learning nonparametric DAGs with incremental information via high-order HSIC".

    Examples
    --------
    >>> reproduce("table-tanh", sizes=[10], repeats=2, methods=["ot"], out="results")  # doctest: +SKIP
    Summary(total=8, before=0, ok=8, failed=0, timeout=0)
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
    """The last record of each cell.

    Parameters
    ----------
    records : iterable of dict
        From :func:`read_results`.

    Returns
    -------
    dict of str to dict
        By the key of the cell.

    Examples
    --------
    >>> latest([])
    {}
    """
    return {Cell(**record["cell"]).key: record for record in records}


def _silent(tick: Tick) -> None:
    """Report nothing."""


def _scales(standardize: bool | str) -> tuple[str, ...]:
    choices = {False: SCALES[:1], True: SCALES[1:], "both": SCALES}
    if standardize not in choices:
        raise InputError(f"standardize must be False, True or 'both', not {standardize!r}")
    return choices[standardize]


class _Run:
    """The cells of one call: which are still to be run, the results of the others, and the time that is left."""

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
        """Run what is pending, as many cells at a time as the crew has places, and write each result at once."""
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
        """A result that another experiment already has, or a timeout because smaller tables have timed out before."""
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
    """How long the rest may take: declared costs, corrected for each method by the time its cells took so far."""

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
        """Count a cell as done; ``seconds`` is None if it was not run, or failed."""
        expected = self._expected(cell)
        self._left[cell.method] -= expected
        if seconds is not None:
            self._expected_so_far[cell.method] += expected
            self._taken[cell.method] += HANDING_OVER + seconds

    def outlook(self) -> tuple[float, float | None]:
        """Share of the time that has passed, and seconds left; 0 and None before the first cell is done."""
        elapsed = time.perf_counter() - self._began
        if not self._taken:
            return 0.0, None
        # Seconds of work per second: at first one for each place, while children are still starting, then as measured.
        pace = (self.places * _SETTLING + sum(self._taken.values())) / (_SETTLING + elapsed)
        left = sum(self._left_of(method) for method in self._left) / pace
        return elapsed / (elapsed + left), left

    def _left_of(self, method: str) -> float:
        known = self._expected_so_far[method]
        return max(self._left[method], 0.0) * (self._taken[method] / known if known else 1.0)

    def _expected(self, cell: Cell) -> float:
        return min(cell.expected_seconds, self._timeout)


def _same_settings(cell: Cell, record: Record) -> bool:
    """Whether a record was made with the settings that are declared now."""
    return bool(record["settings"] == cell.settings)


def _row(cell: Cell) -> tuple[Any, ...]:
    """A method on one kind of data and one size, for which timeouts are counted."""
    return cell.method, cell.model, cell.nodes, cell.recipe, cell.standardized


def _outcome(future: Future[dict[str, Any]], cell: Cell) -> Record:
    """The record, or the reason why there is none; a machine of the cluster may have gone."""
    try:
        return future.result()
    except InterruptedRunError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        return {"seeds": asdict(cell.seeds), "settings": cell.settings, "status": "failed", "reason": reason}


class _Crew(AbstractContextManager["_Crew"]):
    """What runs the cells, ``places`` at a time."""

    places: int

    def submit(self, cell: Cell, timeout: float | None) -> Future[dict[str, Any]]:
        raise NotImplementedError


class _LocalCrew(_Crew):
    """Child processes on this machine."""

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
