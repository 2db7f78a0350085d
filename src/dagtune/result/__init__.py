"""What was learned, each step that led there with its evidence, and ways to hand it on."""

from dagtune.result.changes import Change, Check, Measured, replay
from dagtune.result.result import Result

__all__ = ["Change", "Check", "Measured", "Result", "replay"]
