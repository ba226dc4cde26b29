"""The `fairboard` command: what each subcommand is called and which module has it."""

import click

from grader.cli.group import CommandGroup, Entry

HELP = """Score models for unintended bias, and run competitions and their web site.

\b
fairboard score solution.csv submission.csv
fairboard serve
fairboard competition create hate-2026 --title "Harmful comments" --solution solution.csv
fairboard COMMAND --help

Settings are the variables FAIRBOARD_*, which `fairboard settings` shows. A command exits with 0 if it
succeeded, with 2 if a file is rejected, and with 1 for any other problem.
"""

main = CommandGroup(
    "fairboard",
    help=HELP,
    sections={
        "On files, without a server": {
            "score": Entry("grader.cli.metric.score", "Score a file of predictions."),
            "analyze": Entry("grader.cli.metric.analyze", "Analyze data and models in depth."),
            "verify": Entry("grader.cli.metric.verify", "Recompute the score of a receipt."),
        },
        "The service": {
            "serve": Entry("grader.cli.operate.serve", "Run the site with its queue, worker and sweeper."),
            "demo": Entry("grader.cli.operate.demo", "Run a generated demo competition."),
            "sweeper": Entry(
                "grader.cli.operate.sweeper", ("Score submissions that waited too long or were abandoned.")
            ),
            "settings": Entry("grader.cli.operate.settings", "Show all settings and their values."),
            "doctor": Entry("grader.cli.operate.doctor", "Find out what is wrong and what to do about it."),
        },
        "Competitions and people": {
            "competition": Entry(
                "grader.cli.competition.commands", "Create, change, moderate and close competitions."
            ),
            "rescore": Entry(
                "grader.cli.competition.rescore", "Score all submissions with a corrected solution."
            ),
            "user": Entry(
                "grader.cli.operate.user", ("Create and list accounts, invitations and reset links.")
            ),
            "token": Entry("grader.cli.operate.token", "Create, list and revoke API tokens."),
        },
        "What is stored": {
            "migrate": Entry("grader.cli.operate.migrate", "Bring the database to this version's tables."),
            "backup": Entry("grader.cli.operate.backup", "Write a backup, while the service runs."),
            "restore": Entry("grader.cli.operate.restore", "Fill an empty installation from a backup."),
            "orphans": Entry("grader.cli.operate.orphans", "List or delete blobs that no row refers to."),
        },
    },
)

main = click.version_option(package_name="fairboard")(main)
