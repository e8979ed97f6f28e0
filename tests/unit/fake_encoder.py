"""A model without weights, whose features say of what they were made."""

import hashlib

import numpy as np

from crepebench.models import Model, Tokens

LIMIT = 40
"""Letters that it reads of a text."""


class FakeEncoder(Model):
    """Encodes a text by its hash and a crop by its mean colour and size; notes what it was asked for.

    Its tokens are the letters of a text.
    """

    identity = "fake-1"

    def __init__(self):
        self.texts, self.n_images, self.batches = [], 0, []

    def preprocess(self, picture):
        import torch

        mean = np.asarray(picture, dtype=np.float32).mean(axis=(0, 1))
        return torch.from_numpy(np.append(mean / 255, [picture.width / 64, picture.height / 48]).astype(np.float32))

    def tokenise(self, texts):
        import torch

        ids = torch.zeros(len(texts), LIMIT, dtype=torch.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = torch.tensor([ord(letter) for letter in text[:LIMIT]])
        return Tokens(ids, None, np.array([len(text) for text in texts], np.int64), LIMIT)

    def encode_tokens(self, tokens):
        texts = ["".join(chr(letter) for letter in row if letter) for row in tokens.ids.tolist()]
        self.texts += texts
        self.batches.append(len(texts))
        return np.stack([vector_of(text) for text in texts])

    def encode_images(self, images):
        self.n_images += len(images)
        self.batches.append(len(images))
        return images.numpy()


class CorrectedEncoder(FakeEncoder):
    """Encodes texts itself, and takes the features of images from another model, backwards."""

    identity = "corrected-1"
    image_identity = FakeEncoder.identity

    def adopt_images(self, features):
        return features[:, ::-1]


def vector_of(text):
    """The feature of a text that is not over the limit."""
    return np.frombuffer(hashlib.sha256(text.encode()).digest()[:5], np.uint8).astype(np.float32)
