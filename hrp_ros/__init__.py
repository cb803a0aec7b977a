"""Entry points of the programs in ``hrp_model`` and ``hrp_sim``."""
