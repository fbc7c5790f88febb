"""Scores and speeds of a trained model, and the side by side table of several."""

from .generated import Generated, read_generated
from .logs import TrainingLog, read_training_log
from .report_command import main
from .results import Result, format_results
from .scores import Scores, score_text

__all__ = [
    "Generated",
    "Result",
    "Scores",
    "TrainingLog",
    "format_results",
    "main",
    "read_generated",
    "read_training_log",
    "score_text",
]
