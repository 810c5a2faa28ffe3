"""Questions that the index could answer: those of its calibration, or a few that a model writes meanwhile.

They are written once for a commit of the index, while the server has nothing else to do, and are kept. A
question of a client ends the writing, which begins again later.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from disputatio.api.indexing import Index
from disputatio.calibration.calibrate import owners_of
from disputatio.calibration.questions import find_candidates, write_questions
from disputatio.errors import Cancelled, DisputatioError
from disputatio.kit import Kit
from disputatio.protocols import Cancel
from disputatio.server.answer_store import AnswerStore
from disputatio.server.faults import shown
from disputatio.server.turns import Turns
from disputatio.store.calibration_log import FactQuestion
from disputatio.trace import Trace

LOG = logging.getLogger("disputatio.server")
_TRIED = 2  # sentences that are tried for each question


class Suggestions:
    """Up to `most` questions about an index; it belongs to one event loop."""

    def __init__(self, kit: Kit, answers: AnswerStore, turns: Turns, most: int) -> None:
        """Create them; with `most` 0 no question is suggested, nor any model asked."""
        self._kit, self._answers, self._turns, self._most = kit, answers, turns, most
        self._cancel: Cancel | None = None
        self._failed: tuple[str, int] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_writing(self) -> bool:
        return self._cancel is not None

    async def of(self, index: Index) -> list[str]:
        """Return the questions that there are, and have some written if there are none."""
        if not self._most:
            return []
        info = await asyncio.to_thread(index.info)
        key = info.path, info.commit
        kept = await asyncio.to_thread(self._answers.get_suggested, *key)
        if kept is None:
            kept = await asyncio.to_thread(_of_calibration, index, self._most)
            if not kept and self._may_write(key):
                self._cancel = Cancel()
                self._task = asyncio.create_task(self._write(index, key, self._cancel))
        return kept

    def stop(self) -> None:
        if self._cancel is not None:
            self._cancel.cancel()

    def _may_write(self, key: tuple[str, int]) -> bool:
        idle = not (self._turns.running or self._turns.waiting or self.is_writing)
        return idle and self._kit.has_model and self._failed != key

    async def _write(self, index: Index, key: tuple[str, int], cancel: Cancel) -> None:
        try:
            questions = await asyncio.to_thread(self._questions, index, cancel)
            await asyncio.to_thread(self._answers.keep_suggested, *key, questions)
        except Cancelled:
            pass  # the next client that looks begins anew
        except DisputatioError as error:
            self._failed = key
            LOG.warning("no questions could be suggested: %s", shown(str(error)))
        finally:
            self._cancel = None

    def _questions(self, index: Index, cancel: Cancel) -> list[str]:
        kit = replace(self._kit.with_trace(Trace()), cancel=cancel)
        wanted = self._most * _TRIED
        candidates = []
        for candidate in find_candidates(index, self._most, owners=owners_of(index, {})):
            cancel.check()
            candidates.append(candidate)
            if len(candidates) == wanted:
                break
        questions: list[str] = []
        for start in range(0, len(candidates), self._most):
            written = write_questions(candidates[start : start + self._most], kit)
            questions += [check.text for check in written if isinstance(check, FactQuestion)]
            if len(questions) >= self._most:
                break
        return list(dict.fromkeys(questions))[: self._most]


def _of_calibration(index: Index, most: int) -> list[str]:
    """Return questions that a calibration of the index has asked; none where its log cannot be read."""
    try:
        records = index.records()
    except DisputatioError:
        return []
    return [check.text for record in records for check in record.checks.values()][:most]
