"""Which processes belong to an agent: what the kernel tells of a process, and what binds it to a session.

`process` reads one process, `marks` the limit that an agent's children inherit, `tcp` who holds a connection, and
`ties` decides with these who asks for a change.
"""
