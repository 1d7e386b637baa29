"""The data sets: `python -m bench.data NAME...` makes each into a folder of four arrays.

`base.npy` and `query.npy` (float32 rows), `gt100_ids.npy` (exact nearest hundred of each query, best first) and `gt100_sim.npy`
(their similarities: cosine, or the negative squared distance), and `about.json` (metric and where the rows came from).
"""
