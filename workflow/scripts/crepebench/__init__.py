"""CREPE rebuilt: compositional retrieval sets from Visual Genome, and the scores of models on them."""
