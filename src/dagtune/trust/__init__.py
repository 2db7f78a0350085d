"""How far a fit can be trusted: implied independences, hidden causes, a verdict in words, and what to ask next."""

from dagtune.trust.hidden import HiddenCause, HiddenCauseTest, find_hidden_causes
from dagtune.trust.independences import Independence, check_independences
from dagtune.trust.questions import Question, next_questions
from dagtune.trust.verdict import Verdict, judge

__all__ = [
    "HiddenCause",
    "HiddenCauseTest",
    "Independence",
    "Question",
    "Verdict",
    "check_independences",
    "find_hidden_causes",
    "judge",
    "next_questions",
]
