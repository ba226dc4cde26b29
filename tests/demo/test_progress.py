from grader.demo.progress import NAME, Progress


def test_what_was_noted_is_there_at_the_next_start(tmp_path):
    progress = Progress(tmp_path, resume=False)
    progress.note(progress.tokens, "words", "token")
    progress.note(progress.submissions, "word-pairs", 7)
    again = Progress(tmp_path, resume=True)
    assert again.tokens == {"words": "token"}
    assert again.submissions == {"word-pairs": 7}


def test_a_new_competition_forgets_what_an_older_one_had(tmp_path):
    progress = Progress(tmp_path, resume=False)
    progress.note(progress.tokens, "words", "token")
    assert Progress(tmp_path, resume=False).tokens == {}


def test_only_its_owner_can_read_the_logins(tmp_path):
    progress = Progress(tmp_path, resume=False)
    progress.note(progress.passwords, "words", "secret")
    assert (tmp_path / NAME).stat().st_mode & 0o077 == 0
