"""`python -m grader.cli`: run the command without the installed script."""

from grader.cli import main

main(prog_name="fairboard")
