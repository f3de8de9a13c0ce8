"""What the cases about git are made of."""

from . import client, wire
from .case import GitCase, Operation
from .commits import Commits
from .watch import Watch

__all__ = ["Commits", "GitCase", "Operation", "Watch", "client", "wire"]
