"""What runtimes print when a resize does not suit them, as data: the text, the cause, the page and the fixes."""
