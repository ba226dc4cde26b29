"""Running sandboxes, shared by all tests of this folder."""

import pytest

from grader.sandbox import SandboxClient
from grader.sandbox.functions import PACKAGES

# A call forks the zygote, so small ones are faster. The modules of the attacks save an import in each
# child.
FEW = ("numpy", "pandas", "asyncio", "multiprocessing", "sqlite3", "urllib")


@pytest.fixture(scope="session")
def sandboxes():
    """Two sandboxes with different hash seeds, without SciPy and scikit-learn."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FAIRBOARD_SECRET_KEY", "CANARY"):
            patch.setenv(name, "canary")
        both = SandboxClient(packages=FEW), SandboxClient(hash_seed=1, packages=FEW[:2])
        for each in both:
            each.start()
        yield both
        for each in both:
            each.close()


@pytest.fixture(scope="session")
def complete_sandbox():
    """A sandbox with all packages."""
    sandbox = SandboxClient(packages=PACKAGES)
    yield sandbox
    sandbox.close()
