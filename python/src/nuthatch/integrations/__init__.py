"""Nuthatch where frameworks look for a store or a cache: LangChain, LangGraph, LlamaIndex, Haystack, LiteLLM.

What it is: one package a framework, each an extra (``pip install 'nuthatch[langchain]'``), each built on the public API alone,
so that every result of ``nuthatch.connect`` will do.
What it is not: imported by ``import nuthatch``; no framework is needed for anything else.
Invariant: what one call of a framework writes is one atomic batch; a filter that cannot be said in the ``where`` language is an
error, never left out.
"""
