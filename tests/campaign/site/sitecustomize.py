"""Python startup hook that applies a campaign's defect in every process of the service."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3]))

from tests.campaign.mutations import install

install()
