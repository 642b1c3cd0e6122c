"""Checks of the exercises in 07 · Many processes."""

import math


def _accuracy_of(accuracy_of):
    got = float(accuracy_of([(9, 10), (1, 2)]))
    assert not math.isclose(got, 0.7), "that is the mean of the ranks' accuracies: add up rights and numbers first"
    assert math.isclose(got, 10 / 12), f"9 of 10 and 1 of 2 are 10 of 12, or 0.833, not {got:.3g}"
    got = float(accuracy_of([(3, 4), (0, 0)]))
    assert math.isclose(got, 0.75), f"a rank without examples adds nothing: 3 of 4 are 0.75, not {got:.3g}"
    return "Every example counts once."


def _share_of(share_of):
    for examples, world_size in ((10, 4), (8, 2), (2, 3)):
        shares = [list(share_of(examples, rank, world_size)) for rank in range(world_size)]
        places = sorted(place for share in shares for place in share)
        case = f"{examples} examples on {world_size} ranks"
        twice = sorted({place for place in places if places.count(place) > 1})
        assert not twice, f"{case}: place {twice[0]} comes more than once, and would count more than others"
        missing = sorted(set(range(examples)) - set(places))
        assert not missing, f"{case}: nobody judges place {missing[0]}; the last share may be longer or shorter"
        assert places == list(range(examples)), f"{case}: there is no place {places[-1]}"
        sizes = [len(share) for share in shares]
        assert max(sizes) - min(sizes) <= 1, f"{case}: shares of {sizes}; one rank works while the others wait"
    return "Nobody is counted twice, and nobody is forgotten."


def _ring_all_reduce(ring_all_reduce):
    n, rounds = 4, []
    numbers = [[10**place * (rank + 1) for place in range(n)] for rank in range(n)]
    given = [list(row) for row in numbers]

    def send(values):
        assert len(values) == n, f"in a round each of {n} ranks sends one number, not {len(values)} in all"
        rounds.append(list(values))
        assert len(rounds) <= 2 * (n - 1), f"more than {2 * (n - 1)} rounds"
        return [values[rank - 1] for rank in range(n)]

    got = [list(row) for row in ring_all_reduce(numbers, send)]
    sums = [sum(row[place] for row in given) for place in range(n)]
    assert rounds, "nothing was sent: a rank knows its own numbers alone, and `send` is the only way to another's"
    half_way = len(rounds) == n - 1 and got != [sums] * n
    assert not half_way, f"after {n - 1} rounds each rank has one whole sum: pass these on, for as many rounds"
    for rank, row in enumerate(got):
        assert row == sums, f"rank {rank} should have {sums} in the end, and has {row}"
    return f"{len(rounds)} rounds, and everybody knows everything."


CHECKS = {"7.1": _accuracy_of, "7.2": _share_of, "7.3": _ring_all_reduce}
