"""Several questions at once; each is answered on its own, in any order."""

from __future__ import annotations

import asyncio

from yourcall.client import AsyncYourcall


async def main() -> None:
    desk = AsyncYourcall()
    async with asyncio.TaskGroup() as group:
        region = group.create_task(desk.ask("Which region?", ["eu", "us"], name="many_questions.py"))
        branch = group.create_task(desk.ask("Which branch?", text=True, name="many_questions.py"))
    print(f"{branch.result().text} goes to {region.result().option}")


asyncio.run(main())
