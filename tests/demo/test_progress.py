from grader.demo.competition import Progress, Steps


def test_the_next_start_continues_from_the_written_progress(tmp_path):
    progress = Progress.of(tmp_path, resume=False)
    progress.tokens["words"] = "token"
    progress.submissions["word-pairs"] = 7
    progress.write()
    assert Progress.of(tmp_path, resume=True) == progress
    assert Progress.of(tmp_path, resume=False).tokens == {}


def test_only_its_owner_can_read_the_logins(tmp_path):
    progress = Progress.of(tmp_path, resume=False)
    progress.write()
    assert progress.path.stat().st_mode & 0o077 == 0


def test_steps_are_numbered():
    said: list[str] = []
    steps = Steps(12, said.append)
    steps.begin("one")
    steps.begin("two")
    assert said == ["[ 1/12] one", "[ 2/12] two"]
