"""The service: programs that live, streams that are posted to, answers that are subscribed to."""
