"""The view in a terminal: `app` and a screen for each part. Only this needs the extra `[view]`."""
