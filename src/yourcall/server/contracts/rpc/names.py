"""The names that clients give to sessions, beside the sessions' own ids.

Rule: a session's own id always reaches that session. A client's name reaches only what this client started, or
spoke to, under it; it still does when the session's own id changes.
"""

from __future__ import annotations

MOST = 1_000  # names kept; the oldest is forgotten, and the session's own id still works


class Names:
    """One for the whole server: a client that connects again is known by its device."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], str] = {}
        self._names: dict[tuple[str, str], str] = {}

    def give(self, client: str, name: str, session_id: str) -> None:
        if name and name != session_id:
            self._names.pop((client, self._ids.pop((client, name), "")), None)
            self._ids[client, name] = session_id
            self._names[client, session_id] = name
        while len(self._ids) > MOST:
            (owner, oldest), session_id = next(iter(self._ids.items()))
            del self._ids[owner, oldest]
            self._names.pop((owner, session_id), None)

    def id_of(self, client: str, name: str) -> str:
        return self._ids.get((client, name), name)

    def name_of(self, client: str, session_id: str) -> str:
        return self._names.get((client, session_id), session_id)

    def moved(self, client: str, before: str, after: str) -> None:
        """The session goes by another id of its own now; for this client its name stays."""
        self.give(client, self.name_of(client, before), after)
