"""Our strategies as solvers of Inspect AI and our data sets as its tasks; found by its entry point."""

from __future__ import annotations

from disputatio.errors import MissingDependency

try:
    from disputatio.inspect_ai.model import InspectModel
    from disputatio.inspect_ai.solver import disputation_solver
    from disputatio.inspect_ai.tasks import disputatio_scorer, disputatio_task
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "inspect_ai":
        raise
    raise MissingDependency("inspect-ai", "inspect") from error

__all__ = ["InspectModel", "disputatio_scorer", "disputatio_task", "disputation_solver"]
