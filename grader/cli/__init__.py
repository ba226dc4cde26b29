"""The `fairboard` command: one module per subcommand, imported when it is called."""

import click

from grader.cli.group import CommandGroup, Entry

main = CommandGroup(
    "fairboard",
    help="Grade, serve and run competitions for models whose unintended bias matters.",
    entries={
        "score": Entry("grader.cli.score", "Score a file of predictions; needs no server."),
        "analyze": Entry("grader.cli.analyze", "Analyze data and models in depth; needs no server."),
        "verify": Entry("grader.cli.verify", "Recompute the score of a receipt; needs no server."),
        "serve": Entry("grader.cli.serve", "Run the site with all that belongs to it."),
        "demo": Entry("grader.cli.demo", "Run a generated demo competition."),
        "competition": Entry("grader.cli.competition", "Create, list and reveal competitions."),
        "rescore": Entry("grader.cli.rescore", "Score all submissions with a corrected solution."),
        "user": Entry("grader.cli.user", "Create and list accounts, invite, make reset links."),
        "token": Entry("grader.cli.token", "Create, list and revoke API tokens."),
        "sweeper": Entry("grader.cli.sweeper", "Score what waits too long or was abandoned."),
        "migrate": Entry("grader.cli.migrate", "Bring the database to this version's tables."),
        "backup": Entry("grader.cli.backup", "Write a backup, while the service runs."),
        "restore": Entry("grader.cli.restore", "Fill an empty installation from a backup."),
        "doctor": Entry("grader.cli.doctor", "Look at everything that can go wrong, and say what to do."),
        "orphans": Entry("grader.cli.orphans", "Tell, or delete, blobs that no row names."),
        "settings": Entry("grader.cli.settings", "Show the settings in force."),
    },
)

main = click.version_option(package_name="fairboard")(main)
