from grader.demo.steps import Steps

SECONDS = {"one": 10.0, "two": 20.0, "three": 30.0}


def test_each_step_says_its_number_and_how_long_the_rest_takes():
    said: list[str] = []
    steps = Steps(SECONDS, said.append, clock=lambda: 0.0)
    steps.begin("one", "writing")
    assert said == ["[ 1/3] about  60 s left: writing"]


def test_on_a_machine_half_as_fast_the_rest_takes_longer_than_guessed():
    said: list[str] = []
    times = iter([0.0, 0.0, 20.0, 60.0])
    steps = Steps(SECONDS, said.append, clock=lambda: next(times))
    for name in SECONDS:
        steps.begin(name)
    assert [line.partition(":")[0] for line in said] == [
        "[ 1/3] about  60 s left",
        "[ 2/3] about  75 s left",
        "[ 3/3] about  52 s left",
    ]


def test_a_step_that_takes_long_reports_progress_and_its_estimate_falls():
    said: list[str] = []
    times = iter([0.0, 0.0, 4.0, 8.0, 40.0])
    steps = Steps(SECONDS, said.append, clock=lambda: next(times))
    steps.begin("one", "starting")
    for _ in range(3):
        steps.wait()
    assert said[1:] == [
        "[ 1/3] about  56 s left: starting (4 s so far)",
        "[ 1/3] about  52 s left: starting (8 s so far)",
        "[ 1/3] about  50 s left: starting (40 s so far)",
    ]


def test_a_step_that_an_earlier_start_did_is_skipped():
    said: list[str] = []
    steps = Steps(SECONDS, said.append, clock=lambda: 0.0)
    steps.skip(["two"])
    steps.begin("one")
    steps.begin("three")
    assert said == ["[ 1/3] about  40 s left: one", "[ 3/3] about  15 s left: three"]
