"""What several mechanisms use; imports none of them."""
