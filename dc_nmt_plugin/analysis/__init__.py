"""What happens inside a trained model: experiments on it."""
