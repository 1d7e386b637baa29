"""Questions in requests to language models, and the stored form of answers: a module per interface.

What it is: which text of a request is compared, what must be the same, what no cache answers, which answers are never stored, and
how a stream becomes an answer and an answer a stream.
What it is not: a client, or anything that needs a package.
Invariant: a field that is not known here makes a request one that is answered only where everything is the same.
"""
