"""Files the runs of one audit, while its lock is held: each is there as a whole, or not at all."""

import hashlib
import json
import logging
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...core.support.errors import InputError, OutputError, UQReportError
from ...core.support.text import is_sha256
from ...evidence import disk
from ...evidence.canonical import canonical, plain
from ...evidence.codec import dumps
from ...evidence.disk import CLOCK, RUN, remove, write_through
from ...evidence.outcomes import scores_of
from ...evidence.run import Run
from ...evidence.run_folder import contents, read
from ...reading.rating import rating
from . import entry as entries
from .entry import FiledRun, HistoryEntry


def make_entry(name: str, run: Run, run_sha256: str, sums_sha256: str, before: HistoryEntry | None) -> HistoryEntry:
    """Return the entry of a run that follows `before`."""
    waived = sum(len(outcome.waived) for outcome in run.outcomes)
    bare = HistoryEntry(
        name=name,
        sequence=1 if before is None else before.sequence + 1,
        as_of=run.as_of,
        label=str(run.subject["label"]),
        task=str(run.subject["task"]),
        filed=datetime.now(UTC).isoformat(timespec="seconds"),
        run_sha256=run_sha256,
        inputs=inputs_key(run),
        findings=dict(Counter(f.severity for f in run.findings)) | ({"waived": waived} if waived else {}),
        checks=dict(Counter(outcome.state for outcome in run.outcomes)),
        scores=scores_of(run),
        recommendation=rating(run.outcomes).text,
        sums_sha256=sums_sha256,
        previous_hash="" if before is None else before.hash,
    )
    return HistoryEntry(**(asdict(bare) | {"hash": bare.expected_hash()}))


def inputs_key(run: Run) -> str:
    """Return one hash of the model, the data, the settings and all versions: equal keys promise equal numbers.

    Works on the facts alone, before any result is there. The report's date has no part in it, but what it decides
    does: whether each waiver holds and each action is overdue. Empty where the model has no hash, since nothing then
    says that it is the same.
    """
    if not is_sha256(str(run.subject.get("hashes", {}).get("model", ""))):
        return ""
    settings = {key: value for key, value in run.settings.items() if key != "as_of"}
    dated = [part["expires"] for part in settings.get("waivers", ())] + [
        part["due"] for part in settings.get("actions", ())
    ]
    content = {
        "subject": run.subject,
        "settings": settings,
        "environment": run.environment,
        "past": [run.as_of > day for day in dated],
    }
    return hashlib.sha256(canonical(plain(content, "run"))).hexdigest()


_log = logging.getLogger(__name__)


class Filing:
    """One audit of a history while its lock is held."""

    def __init__(self, name: str, audit: Path) -> None:
        self.name = name
        self.folder = audit
        self._head = entries.begin(audit.parent).audits.get(audit.name)
        for left in audit.glob(f"{entries.STAGE}*"):  # of a process that was killed
            remove(left)
        self._take_up()

    def hold(self, run: Run, clock: Mapping[str, Any]) -> None:
        """Keep a run while its report is made, so that it is filed also if this process is killed."""
        held = self.folder / entries.HELD
        try:
            remove(held)
            write_through(held / CLOCK, json.dumps(clock).encode())
            entries.put(held / RUN, dumps(run))
        except OSError as error:  # filing it, after the report is made, fails by the same or goes well
            _log.warning("Not kept while its report is made: %s", error)

    def _take_up(self) -> None:
        """File the run of a process that was killed while it made the report."""
        held = self.folder / entries.HELD
        if (held / RUN).is_file():
            try:
                run, clock = read(held)
            except InputError as error:
                _log.warning("Not filed: %s", error)
            else:
                filed = self.add(run, reports={}, clock=clock)
                words = "Filed as %s: a run that was stopped before its report was made; uq-report render %s"
                _log.warning(words, filed.entry.reference, filed.folder)
        remove(held)

    def previous(self) -> Run | None:
        """Return the run filed last, or the one before if that cannot be read; None if there is none."""
        for folder in reversed(entries.run_folders(self.folder)):
            try:
                entry, data = entries.read_entry(folder.path), folder.path / RUN
                if not data.is_file():
                    continue
                if hashlib.sha256(data.read_bytes()).hexdigest() != entry.run_sha256:
                    raise InputError(f"{data} is not the file that was filed. Restore it from a copy.")
                return read(data)[0]
            except UQReportError as error:
                _log.warning("Not used as the previous run: %s", error)
        return None

    def add(self, run: Run, *, reports: Mapping[str, bytes], clock: Mapping[str, Any]) -> FiledRun:
        """File a run with its reports; the run filed last is not filed twice in a row.

        Raises
        ------
        OutputError
            If it cannot be written; nothing of it is then in the history.
        """
        files = contents(run, reports=reports, clock=clock)
        digest = hashlib.sha256(files[RUN]).hexdigest()
        last = self._last()
        if last is not None and last.run_sha256 == digest and self._whole(last, files.keys() - {CLOCK}):
            return self._published(last)
        listed = disk.dumps(disk.hashes(files))
        entry = make_entry(self.name, run, digest, hashlib.sha256(listed).hexdigest(), self._before(last))
        target = self.folder / entry.folder
        try:
            self._write({**files, disk.SUMS: listed, entries.ENTRY: entry.dumps()}, target)
        except OSError as error:
            shutil.rmtree(self.folder / entries.STAGE, ignore_errors=True)
            raise OutputError(f"history must be writable; got {target}: {error}. Nothing was filed.") from error
        return self._published(entry)

    def unchanged(self, inputs: str, reports: Iterable[str], copy: Path | None = None) -> FiledRun | None:
        """Return the run filed last if the same inputs made it and its files are whole; None if there is work to do.

        Nothing is written; `latest` gets a new time, which says when it was last confirmed.

        Parameters
        ----------
        inputs : str
            `inputs_key` of the facts; empty (the model has no hash) is never unchanged.
        reports : iterable of str
            Names of the report files that are wanted.
        copy : Path, optional
            Another folder that must hold the same reports and run.json.
        """
        last, required = self._last(), {RUN, *reports}
        if last is None or not inputs or last.inputs != inputs or not self._whole(last, required):
            return None
        if copy is not None and not disk.match(copy, disk.loads(self.folder / last.folder), required):
            return None
        if read(self.folder / last.folder)[0].not_reproducible:  # cut by a limit: another attempt may get further
            return None
        with suppress(OSError):  # a history that can only be read has no `latest` to touch
            os.utime(self.folder / entries.LATEST, follow_symlinks=os.utime not in os.supports_follow_symlinks)
        return FiledRun(last, self.folder / last.folder)

    def _whole(self, entry: HistoryEntry, required: Iterable[str]) -> bool:
        """Say whether all files of a run are there with their hashes, and those wanted are among them."""
        folder = self.folder / entry.folder
        listed = disk.loads(folder)
        return listed.get(RUN) == entry.run_sha256 and disk.match(folder, listed, {*listed, *required})

    def _last(self) -> HistoryEntry | None:
        """Return the entry filed last; one that cannot be read still counts in the numbers."""
        folders = entries.run_folders(self.folder)
        if not folders:
            return None
        try:
            return entries.read_entry(folders[-1].path)
        except InputError as error:
            _log.warning("The chain of hashes breaks here: %s", error)
            return entries.lost(self.name, folders[-1].sequence)

    def _before(self, last: HistoryEntry | None) -> HistoryEntry | None:
        """Return what the next entry follows: the recorded head, so that what is gone leaves a gap, or a later run."""
        head = self._head
        if head is None or (last is not None and last.sequence > head.sequence):
            return last
        return replace(entries.lost(self.name, head.sequence), hash=head.hash)

    def _write(self, files: Mapping[str, bytes], target: Path) -> None:
        """Write the files beside their place and down to the disk, and move them there at once."""
        stage = self.folder / entries.STAGE
        for name, data in files.items():
            write_through(stage / name, data)
        for folder in {(stage / name).parent for name in files}:
            entries.flush(folder)
        stage.rename(target)
        entries.flush(self.folder)

    def _published(self, entry: HistoryEntry) -> FiledRun:
        """Point to the run, and make it the head of its audit."""
        try:
            entries.put(self.folder / entries.LATEST, f"{entry.folder}\n".encode())
            entries.record(self.folder.parent, self.folder.name, entry)
        except OSError as error:
            raise OutputError(f"history must be writable; got {error}. The run was filed as {entry.folder}.") from error
        self._head = entries.following(self._head, entry)
        remove(self.folder / entries.HELD)
        return FiledRun(entry, self.folder / entry.folder)
