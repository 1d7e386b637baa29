"""Published figures of five systems, measured here: `make report` or `python -m bench.systems`.

Question: how do figures that others have published compare with what their programs, and Nuthatch, reach on this machine?
One row a figure, with three columns: published, the peer here, ours here.
Data: SIFT descriptors and documentation passages, where NUTHATCH_TEST_DATA names the folder with sift/ and text/; otherwise
clustered vectors, and the page says so. Seed 7 everywhere.
Command: `make report` (the quick form, up to 15 minutes); `python -m bench.systems --scale tiny` shows that everything runs.

Peer and ours take turns, three rounds; a figure is the median, with the lowest and the highest. Sizes are smaller than those
published, and each row names both, so columns of different sizes are no comparison of engines. What cannot be had here has its reason
in place of a figure. Rows are in the order of the systems, not of how good they look.
"""
