"""What passes between the loop and the model: prompts, replies, observations and the final answer."""
