"""What requests to language models ask, and what of their answers is kept: one module an interface.

What it is: which text of a request is compared, what must be the same, what no cache answers, which answers are never stored, and
how a stream becomes an answer and an answer a stream.
What it is not: a client, or anything that needs a package.
Invariant: a field that is not known here makes a request one that is answered only where everything is the same.
"""
