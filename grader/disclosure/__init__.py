"""Does a file for participants give the hidden truth away? Found by its values, not by its names."""

from grader.disclosure.examination import Disclosure, Examined, examine
from grader.disclosure.hidden import Hidden, Kind, Target
from grader.disclosure.layers import Unopened
from grader.disclosure.source import NotReadNow

__all__ = ["Disclosure", "Examined", "Hidden", "Kind", "NotReadNow", "Target", "Unopened", "examine"]
