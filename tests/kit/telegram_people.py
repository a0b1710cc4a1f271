"""Telegram's stand-in as the chats' common tests see it."""

from __future__ import annotations

from typing import Any, ClassVar

from kit.chat_people import GROUP, PRIVATE, Shown
from kit.telegram_server import TOKEN, TelegramServer

PEOPLE = {"ada": 7, "bob": 8, "eve": 9}
CHANNEL = -100


class TelegramPeople(TelegramServer):
    name, sign = "telegram", "/"
    secrets: ClassVar = {"token": TOKEN, "code": "ABCD-EFGH"}

    def settings(self) -> dict[str, Any]:
        return {"server": self.url}

    def chat(self, where: str = PRIVATE, user: str = "ada") -> int:
        return CHANNEL if where == GROUP else PEOPLE[user]

    def person(self, user: str) -> str:
        return str(PEOPLE[user])

    def say(  # type: ignore[override]
        self,
        text: str,
        *,
        user: str = "ada",
        where: str = PRIVATE,
        reply_to: Any = None,
        forwarded: bool = False,
        bot: bool = False,
        ago: float = 0.0,
        file: tuple[str, bytes] | None = None,
    ) -> int:
        more: dict[str, Any] = {}
        if forwarded:
            more["forward_origin"] = {"type": "user", "sender_user": {"id": 9, "first_name": "Eve"}}
        if bot:
            more["from"] = {"id": 55, "is_bot": True, "first_name": "Robot"}
        if file is not None:
            name, content = file
            self.uploads[name] = content
            more |= {"document": {"file_id": name, "file_name": name}, "caption": text}
        return super().say(
            "" if file else text,
            chat=self.chat(where, user),
            user=PEOPLE[user],
            name=user.capitalize(),
            kind="supergroup" if where == GROUP else "private",
            reply_to=reply_to or 0,
            ago=ago,
            **more,
        )

    def press(  # type: ignore[override]
        self, message: Any, data: str, *, user: str = "ada", where: str = PRIVATE, hasty: bool = False
    ) -> None:
        super().press(message, data, chat=self.chat(where, user), user=PEOPLE[user], hasty=hasty)

    def tap(self, message: Any, label: str, **how: Any) -> None:  # type: ignore[override]
        (one,) = [
            each for each in self.shown(how.get("where", PRIVATE), how.get("user", "ada")) if each.id == message
        ]
        (data,) = [data for known, data in one.buttons if known == label]
        self.press(message, data, **how)

    def shown(self, where: str = PRIVATE, user: str = "ada") -> list[Shown]:  # type: ignore[override]
        found: list[Shown] = []
        for message in super().shown(self.chat(where, user)):
            rows = message.get("reply_markup", {}).get("inline_keyboard", [])
            keys = [(key["text"], key.get("callback_data", key.get("url", ""))) for row in rows for key in row]
            replied = message.get("reply_parameters", {}).get("message_id")
            found.append(Shown(message["message_id"], message["text"], keys, replied))
        return found

    def told(self, user: str = "ada", where: str = PRIVATE) -> list[str]:
        toasts = [toast.get("text", "") for toast in list(self.toasts.values())]
        return [*(each.text for each in self.shown(where, user)), *toasts]

    def delete(self, message: Any, where: str = PRIVATE) -> None:
        del self.messages[self.chat(where), message]

    def close(self, where: str = PRIVATE, user: str = "ada") -> None:
        self.blocked.add(self.chat(where, user))

    def say_again(self) -> None:
        self.again()

    @property
    def handled(self) -> bool:
        with self._lock:
            return not self._updates

    @property
    def sent_files(self) -> list[dict[str, Any]]:
        return [{"name": each["file_name"], "text": each["text"], "of": each["reply_to"]} for each in self.files]

    def cut(self) -> None:
        self.poll_faults.append("drop")
