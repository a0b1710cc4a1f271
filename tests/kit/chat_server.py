"""The scripted model for agents of any provider, which the package brings."""

from yourcall.live_check.models.chat import ChatServer

__all__ = ["ChatServer"]
