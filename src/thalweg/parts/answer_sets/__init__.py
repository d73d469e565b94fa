"""Windows of streams and their answer sets: how they are cut, solved and reported."""
