"""
Image segmentation
==================

Two photographs, split by the colours of their pixels alone, each region painted in its mean
colour. KMeans leaves holes in the flower and mistakes light on the roof and the trees for sky;
maximum margin clustering does so far less. It finds four regions by repeated splits in two.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from separatrix import segment_image

INK = "#22303c"


def painted(image, segments):
    """The image with each region in its mean colour."""
    colors = [image[segments == segment].mean(axis=0) for segment in range(segments.max() + 1)]
    return np.round(colors).astype(np.uint8)[segments]


def views(image):
    """Titles and pictures: the image, and what becomes of it."""
    kmeans = segment_image(image, 2, estimator=KMeans(n_init=10, random_state=0))
    return {
        "Photograph": image,
        "KMeans, 2 regions": painted(image, kmeans),
        "Maximum margin, 2 regions": painted(image, segment_image(image, 2)),
        "Maximum margin, 4 regions": painted(image, segment_image(image, 4)),
    }


def main():
    figure, axes = plt.subplots(2, 4, figsize=(10.4, 3.8), layout="constrained")
    for row, name in zip(axes, ["china.jpg", "flower.jpg"], strict=True):
        for ax, (title, picture) in zip(row, views(load_sample_image(name)).items(), strict=True):
            ax.imshow(picture)
            ax.set_axis_off()
            if ax in axes[0]:
                ax.set_title(title, loc="left", fontsize=10, color=INK)
    if len(sys.argv) > 1:  # a file to write
        figure.savefig(sys.argv[1], dpi=100)


if __name__ == "__main__":
    main()
