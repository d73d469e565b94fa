"""One folder a language; each lowers to the intermediate representation."""
