"""The building blocks of benchmark cases."""

from . import proc
from .case import BaseCase, ListCase, same_answers
from .http import post
from .load import Load
from .result import Result, compare, growth, paired, plain
from .world import World

__all__ = [
    "BaseCase", "ListCase", "Load", "Result", "World", "compare", "growth", "paired", "plain", "post", "proc",
    "same_answers",
]
