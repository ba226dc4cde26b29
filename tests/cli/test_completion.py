"""`fairboard completion`: shell scripts, and completion without command imports."""

import json
import os
import subprocess
import sys

FAIRBOARD = [sys.executable, "-m", "grader.cli"]


def test_names_of_commands_are_completed_without_loading_one():
    asked = {"_FAIRBOARD_COMPLETE": "bash_complete", "COMP_WORDS": "fairboard subm", "COMP_CWORD": "1"}
    code = (
        "import sys, json\nfrom grader.cli import main\n"
        "try:\n    main(prog_name='fairboard')\n"
        "except SystemExit:\n"
        "    print(json.dumps(sorted(name for name in sys.modules if name.startswith('grader.cli'))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    *completed, loaded = done.stdout.splitlines()
    assert completed == ["plain,submit", "plain,submissions", "plain,submission"]
    assert json.loads(loaded) == ["grader.cli", "grader.cli.group"]
