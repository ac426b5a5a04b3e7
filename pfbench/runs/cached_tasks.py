"""Tasks whose results are JSON rows; an engine executes only those that the store lacks.

Verdicts, findings and certificates are such rows. Each is computed once for each description of its
task, source code and environment.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pfbench.base.files import call_and_record_files, find_changed_existing_file
from pfbench.base.user_code import is_pfbench_module
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task, TaskResult
from pfbench.runs.storage import content_keys
from pfbench.runs.storage.store import Store


@dataclass(frozen=True)
class CachedTask:
    """Task whose result can be stored as a JSON row, with the data that determine the row's key.

    Attributes
    ----------
    kind
        The kind of the row, one of `pfbench.runs.storage.damage.KINDS`.
    content
        Complete description of the task as JSON data; None if the row is not to be stored.
    modules
        Root modules: the row depends on the source of all modules that these import.
    task
        The task.
    make_row
        Function from the task's return value to the row; by default `dict`.
    recompute
        Whether the task is executed even if the store has its row.
    required_fields
        Fields that a stored row must have to be reused.
    """

    kind: str
    content: Mapping[str, Any] | None
    modules: frozenset[str]
    task: Task
    make_row: Callable[[Any], Mapping[str, Any]] = dict
    recompute: bool = False
    required_fields: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CachedResult:
    """Outcome of a cached task: its row, stored or new, or the failure of its execution.

    Attributes
    ----------
    index
        Position of the task in the list.
    row
        The row; None if the task failed.
    result
        Result of the execution; None if the row was stored before.
    """

    index: int
    row: Mapping[str, Any] | None
    result: TaskResult | None = None


def run_cached_tasks(
    cached_tasks: Sequence[CachedTask],
    engine: Engine,
    store: Store | None = None,
    on_missing: Callable[[Sequence[int]], None] | None = None,
) -> Iterator[CachedResult]:
    """Yield the result of each task: stored results first, then new ones as the tasks finish.

    If a task times out, dies or raises, nothing is stored, so the next call executes it again.
    `on_missing` is called with the positions of the tasks that must be executed, before the first
    of them starts.

    Raises
    ------
    StorageError
        If the store cannot be written or read; rows stored before remain.
    KeyboardInterrupt
        If the user interrupts it; rows stored before remain.
    """
    sources = cache(content_keys.source_digest)
    notes = [content_keys.source_note(task.modules, sources(task.modules)) for task in cached_tasks]
    existing = _content_keys(cached_tasks, notes, engine) if store else {}
    missing = []
    for index, question in enumerate(cached_tasks):
        stored = index in existing and not question.recompute
        row = _read_stored_row(store, question, existing[index]) if store and stored else None
        if row is None or question.required_fields - row.keys():
            missing.append(index)
        else:
            yield CachedResult(index, row)
    if store and missing:
        store.check_writable()
    if on_missing is not None and missing:
        on_missing(missing)
    tasks = [_with_source_check(cached_tasks[index].task, notes[index]) for index in missing]
    for result in engine.do(tasks) if tasks else ():
        index = missing[result.index]
        if result.status != "done":
            yield CachedResult(index, None, result)
            continue
        value, files = (result.value, {}) if _has_no_user_code(notes[index]) else result.value
        row = cached_tasks[index].make_row(value)
        if store and index in existing:
            note = {"source": notes[index], **({"files": files} if files else {})}
            store.put_row(cached_tasks[index].kind, existing[index], row, note)
        yield CachedResult(index, row, replace(result, value=value))


def _content_keys(
    cached_tasks: Sequence[CachedTask], notes: Sequence[Mapping[str, Any]], engine: Engine
) -> dict[int, str]:
    """Return a dict from task position to content key, for tasks whose result can be stored."""
    environment = engine.environment()
    return {
        index: content_keys.content_key(
            {"kind": task.kind, **task.content}, note["digest"], environment
        )
        for index, (task, note) in enumerate(zip(cached_tasks, notes, strict=True))
        if task.content is not None and all(map(content_keys.has_source, task.modules))
    }


def _read_stored_row(store: Store, cached_task: CachedTask, key: str) -> Mapping[str, Any] | None:
    """Return a task's stored row; None if no row is stored, or a file read by the task changed."""
    header = store.get_metadata(cached_task.kind, key)
    if header is None:
        return None
    is_own = not all(map(is_pfbench_module, cached_task.modules))
    is_changed = is_own and find_changed_existing_file(header.get("notes", {}).get("files", {}))
    row: Mapping[str, Any] = header["row"]
    return None if is_changed else row


def _has_no_user_code(note: Mapping[str, Any]) -> bool:
    return all(map(is_pfbench_module, note["modules"]))


def _with_source_check(task: Task, note: Mapping[str, Any]) -> Task:
    """Return a task that first checks the worker's user modules against the digest in `note`."""
    if _has_no_user_code(note):
        return task
    code = " ".join(name for name in note["modules"] if not is_pfbench_module(name))
    return Task(_call_with_source_check, (note, task.function, task.arguments), task.limit, code)


def _call_with_source_check(
    note: Mapping[str, Any], function: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[Any, dict[str, str]]:
    content_keys.check_worker_source(note)
    return call_and_record_files(function, *arguments)
