"""What was learned, each step that led there with its evidence, and ways to hand it on."""

from dagtune.result.changes import Change, Check, Measured, replay
from dagtune.result.difference import Difference, difference
from dagtune.result.result import Result

__all__ = ["Change", "Check", "Difference", "Measured", "Result", "difference", "replay"]
