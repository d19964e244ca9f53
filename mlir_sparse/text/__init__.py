"""Characters to tokens, spans and caret lines, for every grammar of the package."""
