"""Text that a user wrote: characters, tokens, and places to point at.

A grammar opens a `Cursor` on a text. The cursor splits the text into tokens (`lexer`), hands them out one by one, and
raises errors whose caret line (`source_text`) shows the place. `given_arguments` checks what callers pass from Python.
"""
