"""What SAGA's tables share where a component gradient has a part that is a whole point."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class SharedTerms:
    """An array for each of n components; all that are stored in one call share theirs.

    The memory is 8 n bytes and one array for each call of which some component is still stored.

    Parameters
    ----------
    n
        Number of components.
    term
        The array of all of them at first; it is kept as it is.
    """

    def __init__(self, n: int, term: Floats) -> None:
        self._call_of = np.zeros(n, dtype=np.int64)
        self._terms = {0: term}
        self._users = {0: n}
        self._calls = 0

    def store(self, distinct: npt.NDArray[np.int64], term: Floats) -> None:
        """Store an array for these components; drop those that no component has any more."""
        calls, users = np.unique(self._call_of[distinct], return_counts=True)
        for call, count in zip(calls.tolist(), users.tolist(), strict=True):
            self._users[call] -= count
            if self._users[call] == 0:
                del self._users[call], self._terms[call]
        self._calls += 1
        self._call_of[distinct] = self._calls
        self._users[self._calls] = distinct.size
        self._terms[self._calls] = term

    def shares(
        self, indices: npt.NDArray[np.int64], weights: Floats
    ) -> Iterator[tuple[float, Floats]]:
        """Yield each array that these components have, with the sum of their weights."""
        calls, position = np.unique(self._call_of[indices], return_inverse=True)
        sums = np.bincount(position, weights=weights)
        for call, share in zip(calls.tolist(), sums.tolist(), strict=True):
            yield share, self._terms[call]

    def __len__(self) -> int:
        return len(self._terms)
