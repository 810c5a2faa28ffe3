"""Our strategies as Inspect AI solvers and our data sets as its tasks; needs the extra `inspect`.

Inspect finds this module by its entry point, so that `inspect eval disputatio/ramdocs` works where both
are installed. Nothing of ours imports it.
"""

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
