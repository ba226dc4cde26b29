"""`python -m grader.cli`: the same command where no script is installed."""

from grader.cli import main

main(prog_name="fairboard")
