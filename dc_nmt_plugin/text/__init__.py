"""Lines of text, their languages and segmentation."""
