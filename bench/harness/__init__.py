"""The building blocks of benchmark cases."""

from . import proc
from .case import BaseCase, ListCase, same_answers
from .http import post
from .load import Load, capture, capture_page
from .result import Result, compare, growth, paired, plain
from .environment import Environment

__all__ = [
    "BaseCase", "ListCase", "Load", "Result", "Environment", "capture", "capture_page", "compare", "growth", "paired",
    "plain", "post", "proc", "same_answers",
]
