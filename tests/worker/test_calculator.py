"""Calculator: recently prepared solutions."""

from grader.services.submissions.scoring_jobs import Claim
from grader.worker import calculator
from grader.worker.calculator import Calculator, PreparedSolution


def test_least_recently_used_solution_is_evicted_first(monkeypatch):
    loaded: list[int] = []
    monkeypatch.setattr(calculator, "KEPT", 2)

    def load(_: object, __: object, claim: Claim) -> object:
        loaded.append(claim.scoring_version_id)
        return object()

    monkeypatch.setattr(PreparedSolution, "of", load)
    solutions = Calculator(None, None)  # type: ignore[arg-type]
    for version_id in (1, 2, 1, 3, 1, 2):
        solutions._solution(Claim(1, "token", 1, 1, version_id, 1, "a", "b", "c", metric_settings={}))
    assert loaded == [1, 2, 3, 2]
