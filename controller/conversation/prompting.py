"""The controller's prompts."""

from __future__ import annotations

from world_api.backends.chat.prompts import PromptFiles


class Prompts(PromptFiles):
    """The prompt files of one folder of the controller."""

    def __init__(self, folder: str = "prompts", *, language: str = "en") -> None:
        super().__init__("controller", folder)
        self.language = language
