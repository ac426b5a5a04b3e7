"""The record of a data set of three rows."""

from pfbench.problems.data.catalogue import DataFile, DataSet

TOY = DataSet(
    name="toy",
    summary="three rows",
    home="this test",
    citation="none",
    terms="none",
    format="svmlight",
    task="binary",
    rows=3,
    features=3,
    classes=2,
    counts=(2, 1),
    nonzeros=3,
    file=DataFile("http://localhost/toy", "toy", "toy", "toy"),
)
