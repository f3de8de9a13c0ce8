"""The building blocks of git cases."""

from . import client, wire
from .case import GitCase, Operation
from .commits import Commits
from .content import ContentCase, Get, RateCase
from .watch import Watch

__all__ = ["Commits", "ContentCase", "Get", "GitCase", "Operation", "RateCase", "Watch", "client", "wire"]
