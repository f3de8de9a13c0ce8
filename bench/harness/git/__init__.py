"""The building blocks of git cases."""

from . import client, wire
from .case import GitCase, Operation
from .commits import Commits
from .content import ContentCase, Get, RateCase
from .memory_sampler import MemorySampler

__all__ = ["Commits", "ContentCase", "Get", "GitCase", "Operation", "RateCase", "MemorySampler", "client", "wire"]
