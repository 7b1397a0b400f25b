"""Inducing a tool library: a frozen model is asked once for the tools of a domain, and told what is wrong with them.

``rounds.induce`` drafts and repairs, ``drafts`` compiles and tries every version, ``reading`` finds tools in what a model wrote,
``asking`` talks to the model, ``keeping`` writes it all down.
"""
