"""The service over HTTP: routes, who may use them, and answers as server-sent events."""
