import os

from grader.supervisor import lock
from tests.fixtures.refusals import refused


def test_folder_is_locked_until_its_holder_ends_and_names_it(tmp_path):
    assert (lock.holder(tmp_path), lock.address(tmp_path)) == (None, None)
    with lock.hold(tmp_path) as held:
        with refused("already_served", match=f"served by process {os.getpid()}"), lock.hold(tmp_path):
            pass
        assert (lock.holder(tmp_path), lock.address(tmp_path)) == (f"process {os.getpid()}", None)
        lock.describe(held, "a process at http://127.0.0.1:7777")
        with refused("already_served", match=r"a process at http://127\.0\.0\.1"), lock.hold(tmp_path):
            pass
        assert lock.address(tmp_path) == "http://127.0.0.1:7777"
    assert (lock.holder(tmp_path), lock.address(tmp_path)) == (None, None)
    with lock.hold(tmp_path):
        pass
