"""Random input for every language and format: whatever comes in, an answer or a diagnostic goes out.

    seeds       small documents of each kind, to begin with
    grammar     new documents, written from a grammar
    mutate      documents with something wrong
    targets     what reads each kind, and what may become of it
    inputs      the input that a seed and a number stand for
    shard       many inputs in one process, which may die
    campaign    shards, and the inputs that they failed on

`pytest -m slow tests/fuzz` tries a million inputs. THALWEG_FUZZ_INPUTS asks for another number, THALWEG_FUZZ_SEED
repeats a run, and `PYTHONPATH=tests python -m fuzz SEED NUMBER` repeats one input. What was found once is in `finds`,
by target, and is tried in every run of the tests.
"""
