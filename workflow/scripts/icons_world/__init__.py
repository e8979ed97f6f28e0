"""The icons world: a seeded miniature of everything the workflow reads, drawn from Font Awesome's glyphs.

It makes a miniature Visual Genome, three caption corpora and one mini CLIP per corpus, all in the formats of
their originals. Nothing in `crepebench` knows of it.
"""
