"""Inducing a tool library: a frozen model is asked once for the tools of a domain, and told what is wrong with them.

``induce`` runs drafting, repair and admission; ``freeze_induction`` writes what came of it.
"""
