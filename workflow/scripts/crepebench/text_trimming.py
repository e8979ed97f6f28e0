"""Encode texts without the padding behind them, where a causal mask keeps it from mattering.

Captions need some ten tokens, and a CLIP text tower reads 77: without padding it is five times as fast.
"""


def can_trim(tower) -> bool:
    """Says whether a text tower gives the same features without padding.

    So it is if no token sees those behind it, and the feature is read at the end token. It is not for towers that read
    the last position or the mean, that add a class token behind the padding, or whose tokens see each other.

    Args:
        tower: open_clip.CLIP, or the text tower of another model of open_clip.
    """
    import open_clip
    from open_clip.transformer import TextTransformer

    if isinstance(tower, open_clip.CLIP):
        return tower.text_pool_type in ("argmax", "eos") and tower.attn_mask is not None
    is_causal = isinstance(tower, TextTransformer) and tower.attn_mask is not None
    return is_causal and tower.pool_type in ("argmax", "eos") and tower.cls_emb is None


def trim_tokens(tokens):
    """Cuts padding: keeps the columns up to the longest text's end token.

    Args:
        tokens: (n, context) int64, where the end token has the largest id and padding is 0.
    """
    return tokens[:, : int(tokens.argmax(dim=-1).max()) + 1]


def encode_trimmed_texts(model, tokens):
    """Encodes texts with a causal open_clip.CLIP text tower, without the padding behind the longest.

    Equal to `model.encode_text` up to rounding: under a causal mask nothing behind the end token reaches it.

    Args:
        model: open_clip.CLIP whose text tower is causal and pools at the end token.
        tokens: (n, length) int64, length at most the context length.

    Returns:
        (n, dim) features, not normalised.
    """
    return encode_to_ends(model, tokens, tokens.argmax(dim=-1))


def encode_to_ends(tower, tokens, ends):
    """Encodes texts up to their ends with a text tower that `can_trim` accepts.

    Args:
        tower: open_clip.CLIP, or the text tower of another model of open_clip.
        tokens: (n, length) int64.
        ends: (n,) int64, position of each text's end token.

    Returns:
        (n, dim) features, not normalised.
    """
    import torch
    from torch import nn

    length, dtype = int(ends.max()) + 1, tower.transformer.get_cast_dtype()
    x = tower.token_embedding(tokens[:, :length]).to(dtype) + tower.positional_embedding[:length].to(dtype)
    x = tower.transformer(x, attn_mask=tower.attn_mask[:length, :length])
    x = tower.ln_final(x)
    x = x[torch.arange(len(tokens), device=tokens.device), ends]
    projection = tower.text_projection
    if projection is None:
        return x
    return projection(x) if isinstance(projection, nn.Linear) else x @ projection
