import os

from grader.supervisor import lock
from tests.fixtures.refusals import refused


def test_error_names_the_process_that_holds_the_folder(tmp_path):
    with lock.hold(tmp_path) as held:
        lock.describe(held, "process 12 at http://127.0.0.1:7777")
        with (
            refused("already_served", match=r"process 12 at http://127\.0\.0\.1:7777"),
            lock.hold(tmp_path),
        ):
            pass


def test_holder_is_named_by_its_process_before_it_stores_details(tmp_path):
    with (
        lock.hold(tmp_path),
        refused("already_served", match=f"served by process {os.getpid()}"),
        lock.hold(tmp_path),
    ):
        pass


def test_folder_is_free_after_the_holder_ends(tmp_path):
    with lock.hold(tmp_path):
        pass
    with lock.hold(tmp_path):
        pass


def test_holder_and_address_can_be_read_without_the_lock(tmp_path):
    assert (lock.holder(tmp_path), lock.address(tmp_path)) == (None, None)
    with lock.hold(tmp_path) as held:
        assert (lock.holder(tmp_path), lock.address(tmp_path)) == (f"process {os.getpid()}", None)
        lock.describe(held, "a process at http://127.0.0.1:7777")
        assert lock.address(tmp_path) == "http://127.0.0.1:7777"
    assert (lock.holder(tmp_path), lock.address(tmp_path)) == (None, None)
