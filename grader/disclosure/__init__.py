"""Find columns of a data file that disclose the solution, by their values and not by their names."""

from grader.disclosure.examination import Disclosure, Examined, examine
from grader.disclosure.hidden import Hidden, Kind, Target
from grader.disclosure.layers import Unopened
from grader.disclosure.source import NotReadNow

__all__ = ["Disclosure", "Examined", "Hidden", "Kind", "NotReadNow", "Target", "Unopened", "examine"]
