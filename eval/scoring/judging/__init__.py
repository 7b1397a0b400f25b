"""The judge of open answers: a chat model that is asked whether an answer says what an accepted one says."""
