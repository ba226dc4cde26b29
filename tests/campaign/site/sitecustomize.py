"""Python runs this at the start of every process of a service that a campaign breaks on purpose."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3]))

from tests.campaign.mutations import install

install()
