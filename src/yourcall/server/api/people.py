"""Persons over HTTP: to see who there is; and, at the machine itself, to add and remove them.

Rule: somebody who is removed is out at once: their devices and passkeys are revoked in the same breath.
"""

from __future__ import annotations

import secrets

from msgspec.structs import replace

from yourcall.model.people import Person
from yourcall.server.auth import Refusal
from yourcall.server.route import Call, Reply, body
from yourcall.server.wire import DeviceView, GiveRequest, PersonRemoved, PersonRequest, PersonView

_NONE = Refusal(404, "There is no such person. See: yourcall people")


async def list_people(call: Call) -> Reply | Refusal:
    devices = [each for each in call.devices.all() if each.revoked_at is None]
    return Reply(
        [
            PersonView(each.id, each.name, each.grants, tuple(d.name for d in devices if d.person == each.id))
            for each in call.devices.people()
        ]
    )


async def put_person(call: Call) -> Reply | Refusal:
    """A new person, or another answer to what one may do."""
    asked = await body(call.request, PersonRequest)
    if isinstance(asked, Refusal):
        return asked
    name = " ".join("".join(c for c in asked.name if c.isprintable()).split())
    if not name or name == "-":
        return Refusal(422, "A person has a name.")
    for grant in asked.grants:
        wrong = next((each for each in grant.projects if not each.startswith("/") or ".." in each.split("/")), "")
        if wrong:
            return Refusal(422, f"A project is a folder, written from /: {wrong!r} is none.")
    old = call.devices.person_named(name)
    person = Person(secrets.token_hex(4), name, asked.grants) if old is None else replace(old, grants=asked.grants)
    await call.devices.put_person(person, "added" if old is None else "changed", call.caller.author)
    devices = tuple(each.name for each in call.devices.all() if each.person == person.id and not each.revoked_at)
    return Reply(PersonView(person.id, person.name, person.grants, devices), 201 if old is None else 200)


async def remove_person(call: Call) -> Reply | Refusal:
    person = call.devices.person_named(call.part("name"))
    if person is None:
        return _NONE
    gone = await call.devices.remove_person(person, call.caller.author)
    keys = 0
    for key in call.step_up.passkeys() if call.step_up is not None else ():
        if key.person == person.id and call.step_up is not None:
            keys += await call.step_up.revoke(key.id, call.caller.author, f"{person.name} was removed")
    return Reply(PersonRemoved(gone, keys))


async def give_device(call: Call) -> Reply | Refusal:
    from yourcall.server.api.devices import view

    asked = await body(call.request, GiveRequest)
    if isinstance(asked, Refusal):
        return asked
    person = call.devices.person_named(asked.person) if asked.person else None
    if asked.person and person is None:
        return _NONE
    if not await call.devices.give(call.part("id"), person.id if person else "", call.caller.author):
        return Refusal(404, "There is no such device, or it is revoked. See: yourcall devices")
    device: DeviceView = view(next(each for each in call.devices.all() if each.id == call.part("id")), call)
    return Reply(device)
