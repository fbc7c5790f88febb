"""What a frozen encoder's sentence vectors tell of a sentence."""
