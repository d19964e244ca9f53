"""The pages of the documentation that are made by running: `python -m doc_pages FOLDER`, as scripts/docs does."""
